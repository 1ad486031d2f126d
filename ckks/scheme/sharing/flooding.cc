#include "ckks/scheme/sharing/flooding.h"

#include <cmath>
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/ring/wide_gaussian.h"

namespace psm::ckks {
namespace {

std::string tenths(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

}  // namespace

Flooding plan_flooding(const Context& context, Level level, Scale scale, double size, double error,
                       const SharingTerms& terms) {
  if (terms.queries < 1 || terms.queries > SharingTerms::kMaxQueries) {
    throw Error(message("a limit of ", terms.queries, " shared answers is impossible; it must be from 1 to ",
                        SharingTerms::kMaxQueries));
  }
  // Where bounds grow beyond all numbers, a product with zero is none.
  if (!std::isfinite(error) || !std::isfinite(size)) {
    throw Error(
        "not safe to share: the worst-case error of the result is beyond all bounds, as after several "
        "bootstraps; "
        "compute with fewer products and no bootstrap, or keep the result to yourself");
  }
  PSM_CHECK(error >= 0 && size >= 0 && scale >= 1, "error ", error, " size ", size, " scale ", scale);
  const double n = context.n();
  Flooding flooding{level, scale, error, 0, 0, 0, 0};
  const double distance = error * scale + std::sqrt(n) / 2;
  flooding.deviation = std::sqrt(12.0 * static_cast<double>(terms.queries)) *
                       std::exp2(terms.statistical_bits / 2.0) * distance;
  flooding.precision_bits = -std::log2(flooding.deviation * std::sqrt(n / 2) / scale + error);
  flooding.largest = scale * (size + error) + WideGaussian::kTail * flooding.deviation;
  flooding.total_variation = std::exp2(-terms.statistical_bits / 2.0) / std::sqrt(48.0) +
                             static_cast<double>(terms.queries) * n * WideGaussian::kDistance;
  const std::string why =
      message("not safe to share: the worst-case error of the result is 2^", tenths(std::log2(error)),
              ", and hiding it in ", terms.queries, " answers to ", terms.statistical_bits,
              " bits (Micciancio-Walter; total variation 2^", tenths(std::log2(flooding.total_variation)),
              ") takes noise that leaves ", tenths(flooding.precision_bits), " bits");
  if (!(flooding.precision_bits >= terms.precision_bits)) {
    throw Error(message(
        why, " of the ", tenths(terms.precision_bits),
        " asked for; compute with a larger scale and fewer products, or keep the result to yourself"));
  }
  if (flooding.deviation > WideGaussian::kMaxDeviation ||
      std::log2(flooding.largest) > context.log2_q(level) - 1) {
    throw Error(message(why, ", but noise of 2^", tenths(std::log2(flooding.deviation)),
                        " does not fit the modulus of 2^", tenths(context.log2_q(level)), " at level ", level,
                        "; leave the result at a higher level"));
  }
  return flooding;
}

}  // namespace psm::ckks
