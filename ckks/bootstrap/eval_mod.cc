#include "ckks/bootstrap/eval_mod.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;
constexpr int kSamplesPerInteger = 8;

// How exact the fit must be around the integer i, relative to i = 0: up to six deviations of a sum of `summands`
// uniform variables the cube root of i's probability, were they normal; beyond them, where integers all but
// never occur, enough to remove them to a dozen bits.
long double weight(int i, int summands) {
  const long double variance = summands / 12.0L;
  if (std::abs(i) > std::ceil(6 * std::sqrt(variance))) return std::ldexp(1.0L, -17);
  return std::exp(-i * i / (6 * variance));
}

}  // namespace

std::vector<long double> least_squares(std::vector<long double> a, std::vector<long double> b, int columns) {
  const int rows = static_cast<int>(b.size());
  PSM_CHECK(columns >= 1 && rows >= columns && a.size() == static_cast<size_t>(rows) * columns, rows,
            " rows");
  const auto at = [&](int r, int c) -> long double& { return a[static_cast<size_t>(r) * columns + c]; };
  std::vector<long double> v(rows);
  for (int c = 0; c < columns; ++c) {
    long double norm = 0;
    for (int r = c; r < rows; ++r) norm += at(r, c) * at(r, c);
    norm = std::sqrt(norm);
    PSM_CHECK(norm > 0, "column ", c, " depends on those before it");
    const long double alpha = at(c, c) > 0 ? -norm : norm;
    for (int r = c; r < rows; ++r) v[r] = at(r, c);
    v[c] -= alpha;
    long double square = 0;
    for (int r = c; r < rows; ++r) square += v[r] * v[r];
    const auto reflect = [&](auto&& entry) {
      long double dot = 0;
      for (int r = c; r < rows; ++r) dot += v[r] * entry(r);
      dot *= 2 / square;
      for (int r = c; r < rows; ++r) entry(r) -= dot * v[r];
    };
    for (int k = c; k < columns; ++k) reflect([&](int r) -> long double& { return at(r, k); });
    reflect([&](int r) -> long double& { return b[r]; });
  }
  std::vector<long double> x(columns);
  for (int c = columns - 1; c >= 0; --c) {
    long double sum = b[c];
    for (int k = c + 1; k < columns; ++k) sum -= at(c, k) * x[k];
    x[c] = sum / at(c, c);
  }
  return x;
}

EvalMod::EvalMod(const EvalModSpec& spec)
    : spec_(spec), fitted_ratio_(std::exp2(std::round(std::log2(spec.message_ratio)))) {
  PSM_CHECK(spec.k >= 1 && spec.degree >= 2 && spec.degree % 2 == 0 && spec.double_angles >= 0 &&
            spec.message_ratio > 8);
  lambdas_.assign(spec.double_angles + 1, 0.0);
  long double lambda = 1 / (2 * kPi);
  for (int k = spec.double_angles; k >= 0; --k) {
    lambdas_[k] = static_cast<double>(lambda);
    lambda = std::sqrt(2 * lambda);
  }
  const long double lambda_0 = lambdas_[0];
  lambdas_.erase(lambdas_.begin());

  const double slope = 2 * std::numbers::pi / spec.message_ratio;
  output_gain_ = spec.message_ratio * (1 + slope * slope / 8);  // 3/4 of slope^2 / 6

  const int columns = spec.degree / 2 + 1;
  std::vector<long double> matrix, right;
  for (int i = -spec.k; i <= spec.k; ++i) {
    const long double w = weight(i, spec.summands);
    for (int s = 0; s < kSamplesPerInteger; ++s) {
      const long double node = std::cos(kPi * (s + 0.5L) / kSamplesPerInteger);
      const long double u = i + node / fitted_ratio_;
      const long double x = argument(u), y = 2 * x * x - 1;
      long double before = 1, now = y;  // T_0, T_2: T_{2c}(x) = T_c(T_2(x))
      for (int c = 0; c < columns; ++c) {
        matrix.push_back(w * before);
        const long double next = 2 * y * now - before;
        before = now;
        now = next;
      }
      right.push_back(w * lambda_0 * std::cos(2 * kPi * (u - kShift) / std::ldexp(1.0L, spec.double_angles)));
    }
  }
  const std::vector<long double> solution = least_squares(std::move(matrix), std::move(right), columns);
  series_.coefficients.assign(spec.degree + 1, 0.0);
  for (int c = 0; c < columns; ++c)
    series_.coefficients[2 * c] =
        std::ldexp(std::round(std::ldexp(static_cast<double>(solution[c]), 42)), -42);
}

long double EvalMod::evaluate(long double u) const {
  long double d = psm::ckks::evaluate(series_, argument(u));
  for (const double lambda : lambdas_) d = d * d - lambda;
  return d;
}

double EvalMod::max_error(int i) const {
  long double worst = 0;
  for (int s = -64; s <= 64; ++s) {
    const long double z = s / 64.0L;
    worst = std::max(worst, std::abs(output_gain_ * evaluate(i + z / spec_.message_ratio) - z));
  }
  return static_cast<double>(worst);
}

double EvalMod::sine_error(double z) const {
  const long double part = std::sin(2 * kPi * z / spec_.message_ratio) / (2 * kPi);
  return static_cast<double>(output_gain_ * part - z);
}

double EvalMod::sine_error() const {
  double worst = 0;
  for (int s = 0; s <= 64; ++s) worst = std::max(worst, std::abs(sine_error(s / 64.0)));
  return worst;
}

int EvalMod::exact_up_to() const {
  const double bound = 1.25 * sine_error();
  int i = -1;
  while (i < spec_.k && std::max(max_error(i + 1), max_error(-i - 1)) < bound) ++i;
  return i;
}

double EvalMod::least_bits() const {
  double worst = 0;
  for (int i = -spec_.k; i <= spec_.k; ++i) worst = std::max(worst, max_error(i));
  return -std::log2(worst);
}

}  // namespace psm::ckks
