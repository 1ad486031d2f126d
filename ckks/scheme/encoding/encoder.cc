#include "ckks/scheme/encoding/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/secrecy.h"

namespace psm::ckks {
namespace {

// Without a branch.
inline double select(bool condition, double yes, double no) {
  const uint64_t mask = 0 - static_cast<uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<uint64_t>(yes) & mask) | (std::bit_cast<uint64_t>(no) & ~mask));
}

}  // namespace

Encoder::Encoder(const Context& context, const ResidueMaker* maker)
    : context_(context),
      host_(context.ring()),
      maker_(maker == nullptr ? &host_ : maker),
      embedding_(context.log_n() - 1) {}

Plaintext Encoder::encode(std::span<const std::complex<double>> values, Level level) const {
  return encode(values, level, context_.scale(level));
}

Plaintext Encoder::encode(std::span<const std::complex<double>> values, Level level, Scale scale,
                          bool extended) const {
  const Coefficients c = coefficients(values, level, scale);
  const Basis basis{level + 1, extended ? context_.p_count(level) : 0};
  return {context_.ring(), basis, static_cast<int>(c.size()), scale,
          maker_->residues({{c.data(), c.size()}, c.size(), c.largest}, basis)};
}

Encoder::Coefficients Encoder::coefficients(std::span<const std::complex<double>> values, Level level,
                                            Scale scale) const {
  const size_t m = values.size();
  if (m == 0 || !std::has_single_bit(m) || m > static_cast<size_t>(context_.slots())) {
    throw Error(message("cannot encode a vector of ", m, " values; the size must be a power of two up to ",
                        context_.slots()));
  }
  if (level < 0 || level > context_.max_level()) {
    throw Error(message("cannot encode at level ", level, "; levels go from 0 to ", context_.max_level()));
  }
  if (!(scale >= 1) || !std::isfinite(scale)) throw Error(message("cannot encode at scale ", scale));
  const auto finite = [](std::complex<double> value) {
    return std::isfinite(value.real()) & std::isfinite(value.imag());
  };
  bool all_finite = true;
  for (const std::complex<double>& value : values) all_finite &= finite(value);
  if (!declassify(all_finite)) {
    const auto slot = std::find_if_not(values.begin(), values.end(), finite) - values.begin();
    throw Error(message("cannot encode slot ", slot,
                        ": it is not a finite number; the computation before it failed"));
  }

  // A constant is a polynomial of degree 0 and N/2: two coefficients, like every vector of period 1.
  Coefficients out{Buffer(2 * m), 0};
  double* const coefficients = reinterpret_cast<double*>(out.words.data());
  embedding_.coefficients_of_slots(values, coefficients);
  double largest = 0;
  for (size_t i = 0; i < 2 * m; ++i) {
    // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer. Larger values have
    // no parts but halves, which are cut off where the residues are taken.
    double c = coefficients[i] * scale;
    c = select(std::abs(c) < 0x1p51, (c + 0x1.8p52) - 0x1.8p52, c);
    coefficients[i] = c;
    largest = std::max(largest, std::abs(c));
  }
  largest = declassify(largest);  // the second exception of encoder.h, and the first
  // Moduli beyond the doubles hold whatever is finite.
  if (!std::isfinite(largest) || largest + 1 > std::exp2(context_.log2_q(level) - 1)) {
    throw Error(message("cannot encode: a coefficient of 2^", std::log2(largest + 1),
                        " does not fit the modulus of 2^", context_.log2_q(level), " at level ", level,
                        "; use a higher level or a smaller scale"));
  }
  out.largest = largest;
  return out;
}

}  // namespace psm::ckks
