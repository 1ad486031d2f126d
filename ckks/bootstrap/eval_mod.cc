#include "ckks/bootstrap/eval_mod.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;

// The coefficients of T_0, T_2, ..., T_30 in multiples of 2^-42, by the power of two nearest to R.
struct Fit {
  double ratio;
  int64_t coefficients[16];
};
constexpr Fit kFits[] = {
    {1024,
     {1182740255910, 2603695816319, 2934755722401, 2045325630218, -1309150637680, -3307621919837,
      3183470984877, -1339254353421, 347851906966, -63283990122, 8634628017, -923430762, 79711394, -5774696,
      316865, -24886}},
    {2048,
     {1182448664677, 2603269086082, 2934838168506, 2046129604890, -1308292440926, -3308072205109,
      3183174580932, -1338966278663, 347743882406, -63259031561, 8630554350, -922927038, 79662380, -5770710,
      316633, -24865}},
};

}  // namespace

EvalMod::EvalMod(double message_ratio)
    : message_ratio_(message_ratio), fitted_ratio_(std::exp2(std::round(std::log2(message_ratio)))) {
  const auto* const fit = std::ranges::find(kFits, fitted_ratio_, &Fit::ratio);
  if (fit == std::end(kFits))
    throw Error(message("EvalMod is fitted for a q_0 of 1024 or 2048 times the message's scale, not of ",
                        message_ratio, " times"));
  for (const int64_t coefficient : fit->coefficients)
    series_.coefficients.insert(series_.coefficients.end(),
                                {std::ldexp(static_cast<double>(coefficient), -42), 0});
  series_.coefficients.pop_back();  // there is no T_31

  const double slope = 2 * std::numbers::pi / message_ratio;
  output_gain_ = message_ratio * (1 + slope * slope / 8);  // 3/4 of slope^2 / 6
}

long double EvalMod::evaluate(long double u) const {
  long double d = psm::ckks::evaluate(series_, argument(u));
  for (const double lambda : kLambdas) d = d * d - lambda;
  return d;
}

double EvalMod::sine_error(double z) const {
  const long double part = std::sin(2 * kPi * z / message_ratio_) / (2 * kPi);
  return static_cast<double>(output_gain_ * part - z);
}

}  // namespace psm::ckks
