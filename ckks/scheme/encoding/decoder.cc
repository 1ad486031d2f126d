#include "ckks/scheme/encoding/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secret.h"

namespace psm::ckks {
namespace {

using int128 = __int128;

// Rounded once for |x| < 2^85 and to the last bit beyond. The library's conversion has branches, and so has
// that of an unsigned number of 64 bits.
inline double to_double(int128 x) {
  const auto middle = static_cast<int64_t>(static_cast<uint64_t>(x) >> 32),
             low = static_cast<int64_t>(x & 0xffffffff);
  return static_cast<double>(static_cast<int64_t>(x >> 64)) * 0x1p64 + static_cast<double>(middle) * 0x1p32 +
         static_cast<double>(low);
}

}  // namespace

double Decoder::log2_readable(Level level) const {
  return std::min(context_.log2_q(std::min<Level>(level, kLimbs - 1)), 127.0) - 1;
}

std::vector<std::complex<double>> Decoder::decode(RnsPoly poly, Scale scale) const {
  const Level level = level_of(poly.basis());
  const double log2_scale = std::log2(scale), readable = log2_readable(level);
  if (!(scale > 0) || !(log2_scale <= readable)) {
    throw Error(message("cannot decode at scale ", scale, " = 2^", log2_scale, ": at level ", level,
                        " coefficients up to 2^", readable,
                        " are read, which leaves no room for values; rescale first"));
  }
  const Ring& ring = context_.ring();
  const int limbs = std::min(poly.basis().q, kLimbs);
  if (poly.limbs() > limbs) poly = poly.clone_prefix({limbs, 0});
  to_coefficients(poly);

  // Garner's mixed radix: x = v_0 + v_1 q_0 + v_2 q_0 q_1, then the representative nearest to zero.
  std::array<uint128_t, kLimbs> radix{1, 0, 0};
  uint128_t product = 1;
  std::array<Multiplier, kLimbs> inverse;
  for (int i = 0; i < limbs; ++i) {
    const Modulus& q = ring.q(i);
    radix[i] = product;
    uint64_t residue = 1;
    for (int k = 0; k < i; ++k) residue = mul_mod(residue, reduce_mod(ring.q(k).value, q), q);
    inverse[i] = make_multiplier(inverse_mod(residue, q), q);
    product *= q.value;  // may wrap modulo 2^128, as the sum below does
  }
  SecretVector<double> coefficients(ring.n());
  parallel_for(0, ring.n() / 8, [&](size_t block) {
    for (size_t c = 8 * block; c < 8 * block + 8; ++c) {
      uint128_t value = 0;
      uint64_t digits[kLimbs];
      for (int i = 0; i < limbs; ++i) {
        const Modulus& q = ring.q(i);
        uint64_t known = 0, weight = 1;
        for (int k = 0; k < i; ++k) {
          known = add_mod(known, mul_mod(reduce_mod(digits[k], q), weight, q), q);
          weight = mul_mod(weight, reduce_mod(ring.q(k).value, q), q);
        }
        digits[i] = mul_mod(sub_mod(poly.limb(i)[c], known, q), inverse[i], q);
        value += radix[i] * digits[i];
      }
      const uint128_t negative =
          0 - static_cast<uint128_t>((ring.q(limbs - 1).value / 2 - digits[limbs - 1]) >> 63);
      coefficients[c] = to_double(static_cast<int128>(value - (product & negative)));
    }
  });
  std::vector<std::complex<double>> slots(static_cast<size_t>(context_.slots()));
  embedding_.slots_of_coefficients(coefficients.data(), slots);
  for (auto& slot : slots) slot /= scale;
  return slots;
}

}  // namespace psm::ckks
