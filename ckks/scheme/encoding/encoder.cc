#include "ckks/scheme/encoding/encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secrecy.h"
#include "ckks/base/secret.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {
namespace {

// Without a branch.
inline double select(bool condition, double yes, double no) {
  const uint64_t mask = 0 - static_cast<uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<uint64_t>(yes) & mask) | (std::bit_cast<uint64_t>(no) & ~mask));
}

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

struct Encoder::Tables {
  explicit Tables(int log_slots) : embedding(log_slots) {}
  Embedding embedding;
};

Encoder::Encoder(const Context& context, const ResidueMaker* maker)
    : context_(context),
      host_(context.ring()),
      maker_(maker == nullptr ? &host_ : maker),
      tables_(std::make_unique<const Tables>(context.log_n() - 1)) {}
Encoder::~Encoder() = default;

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
  tables_->embedding.coefficients_of_slots(values, coefficients);
  double largest = 0;
  for (size_t i = 0; i < 2 * m; ++i) {
    // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer; larger values are integers already.
    double c = coefficients[i] * scale;
    c = select(std::abs(c) < 0x1p51, (c + 0x1.8p52) - 0x1.8p52, c);
    coefficients[i] = c;
    largest = std::max(largest, std::abs(c));
  }
  largest = declassify(largest);  // the second exception of encoder.h, and the first
  if (largest + 1 > std::exp2(context_.log2_q(level) - 1)) {
    throw Error(message("cannot encode: a coefficient of 2^", std::log2(largest + 1),
                        " does not fit the modulus of 2^", context_.log2_q(level), " at level ", level,
                        "; use a higher level or a smaller scale"));
  }
  out.largest = largest;
  return out;
}

double Encoder::log2_readable(Level level) const {
  return std::min(context_.log2_q(std::min<Level>(level, kDecodedLimbs - 1)), 127.0) - 1;
}

std::vector<std::complex<double>> Encoder::decode(const Plaintext& plaintext) const {
  const double log2_scale = std::log2(plaintext.scale()), readable = log2_readable(plaintext.level());
  if (!(plaintext.scale() > 0) || !(log2_scale <= readable)) {
    throw Error(message("cannot decode at scale ", plaintext.scale(), " = 2^", log2_scale, ": at level ",
                        plaintext.level(), " coefficients up to 2^", readable,
                        " are read, which leaves no room for values; rescale first"));
  }
  const Ring& ring = context_.ring();
  const int limbs = std::min(plaintext.basis().q, kDecodedLimbs);
  RnsPoly poly = plaintext.expand().clone_prefix({limbs, 0});
  to_coefficients(poly);

  // Garner's mixed radix: x = v_0 + v_1 q_0 + v_2 q_0 q_1, then the representative nearest to zero.
  std::array<uint128_t, kDecodedLimbs> radix{1, 0, 0};
  uint128_t product = 1;
  std::array<Multiplier, kDecodedLimbs> inverse;
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
      uint64_t digits[kDecodedLimbs];
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
  return slots_of_coefficients({coefficients.data(), coefficients.size()}, plaintext.scale());
}

std::vector<std::complex<double>> Encoder::slots_of_coefficients(std::span<const double> coefficients,
                                                                 Scale scale) const {
  PSM_CHECK(coefficients.size() == static_cast<size_t>(context_.n()), coefficients.size());
  std::vector<std::complex<double>> slots(static_cast<size_t>(context_.slots()));
  tables_->embedding.slots_of_coefficients(coefficients.data(), slots);
  for (auto& slot : slots) slot /= scale;
  return slots;
}

}  // namespace psm::ckks
