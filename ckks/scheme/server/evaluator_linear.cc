// Sums, plaintext and scalar operands, changes of level.
#include <algorithm>
#include <cmath>

#include "ckks/ring/arithmetic/real_residue.h"
#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {

using namespace evaluator_internal;

namespace {

void check_pair(const char* operation, const Ciphertext& a, const Ciphertext& b) {
  evaluator_internal::check_fingerprints(operation, a.fingerprint, b.fingerprint);
  evaluator_internal::check_levels(operation, a.level(), b.level());
  evaluator_internal::check_scales(operation, a.scale(), b.scale());
}

void check_plain(const char* operation, const Context& context, const Ciphertext& a, const Plaintext& b) {
  PSM_CHECK(&b.ring() == &context.ring(), "plaintext of another ring");
  evaluator_internal::check_levels(operation, a.level(), b.level());
}

Ciphertext uninitialised(const Ciphertext& like, Scale scale) {
  return {like.c[0].ring(), like.c[0].basis(), scale, like.fingerprint};
}
Ciphertext uninitialised(const Ciphertext& like) { return uninitialised(like, like.scale()); }

// The Gaussian integer round(value * scale) as it acts on a limb in NTT form: `low` on the first half of the
// residues, `high` on the second. X^(N/2) is psi^(N/2) times the sign of the top index bit there.
struct GaussianResidue {
  uint64_t low, high;
};

GaussianResidue gaussian_residue(std::complex<double> value, Scale scale, const NttTables& tables) {
  const Modulus& m = tables.modulus();
  const double real = std::nearbyint(value.real() * scale), imag = std::nearbyint(value.imag() * scale);
  if (!std::isfinite(real) || !std::isfinite(imag)) {
    throw Error("a scalar operand is not a finite number; the computation before it failed");
  }
  const uint64_t a = residue_of(real, m);
  const uint64_t b = mul_mod(residue_of(imag, m), tables.roots()[1], m);  // roots()[1] = psi^(N/2)
  return {add_mod(a, b, m), sub_mod(a, b, m)};
}

// out = a * (low on the first half, high on the second).
void scale_limb(uint64_t* out, const uint64_t* a, GaussianResidue c, size_t n, const Modulus& m) {
  kernels().scale(out, a, make_multiplier(c.low, m), n / 2, m);
  kernels().scale(out + n / 2, a + n / 2, make_multiplier(c.high, m), n / 2, m);
}

// out = a + c on each half.
void add_constant_limb(uint64_t* out, GaussianResidue c, size_t n, const Modulus& m) {
  constexpr size_t kTile = 512;
  alignas(64) uint64_t constant[kTile];
  const size_t tile = std::min(kTile, n / 2);
  for (size_t begin = 0; begin < n; begin += tile) {
    if (begin == 0 || begin == n / 2) std::fill_n(constant, tile, begin == 0 ? c.low : c.high);
    kernels().add(out + begin, out + begin, constant, tile, m);
  }
}

}  // namespace

// ---- sums ------------------------------------------------------------------------------------------------

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", a, b);
  Ciphertext out = uninitialised(a);
  for (int i : {0, 1}) psm::ckks::add(out.c[i], a.c[i], b.c[i]);
  return out;
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("sub", a, b);
  Ciphertext out = uninitialised(a);
  for (int i : {0, 1}) subtract(out.c[i], a.c[i], b.c[i]);
  return out;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  Ciphertext out = uninitialised(a);
  for (int i : {0, 1}) psm::ckks::negate(out.c[i], a.c[i]);
  return out;
}

void Evaluator::add_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", a, b);
  for (int i : {0, 1}) psm::ckks::add(a.c[i], a.c[i], b.c[i]);
}

void Evaluator::sub_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("sub", a, b);
  for (int i : {0, 1}) subtract(a.c[i], a.c[i], b.c[i]);
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("add_plain", context_, a, b);
  evaluator_internal::check_scales("add_plain", a.scale(), b.scale());
  Ciphertext out = a.clone();
  const RnsPoly addend = b.expand().clone_prefix(a.c[0].basis());
  psm::ckks::add(out.c[0], out.c[0], addend);
  return out;
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, std::complex<double> value) const {
  Ciphertext out = a.clone();
  add_scalar_inplace(out, value);
  return out;
}

void Evaluator::add_scalar_inplace(Ciphertext& a, std::complex<double> value) const {
  const Ring& ring = context_.ring();
  parallel_for(0, static_cast<size_t>(a.level()) + 1, [&](size_t index) {
    const int j = static_cast<int>(index);
    add_constant_limb(a.c[0].limb(j), gaussian_residue(value, a.scale(), ring.ntt(j)), ring.n(), ring.q(j));
  });
}

// ---- products by plaintexts ------------------------------------------------------------------------------

Ciphertext Evaluator::multiply_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("multiply_plain", context_, a, b);
  Ciphertext out = uninitialised(a, a.scale() * b.scale());
  evaluator_internal::for_each_limb(a.level() + 1, [&](int i, int j) {
    b.multiply_limb(out.c[i].limb(j), a.c[i].limb(j), j, 0, a.c[i].n());
  });
  return out;
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& a, std::complex<double> value,
                                      Scale scalar_scale) const {
  if (scalar_scale == 0) {
    evaluator_internal::check_level("multiply_scalar", a.level(), 1);
    const Scale needed(before_rescale(context_.scale(a.level() - 1), context_.q(a.level())) / a.scale());
    // Equal but for rounding: then the product of two canonical scales, which rescales to the canonical one.
    scalar_scale = std::abs(needed / a.scale() - 1) < 0x1p-46 ? a.scale() : needed;
  }
  Ciphertext out = uninitialised(a, a.scale() * scalar_scale);
  const Ring& ring = context_.ring();
  evaluator_internal::for_each_limb(a.level() + 1, [&](int i, int j) {
    scale_limb(out.c[i].limb(j), a.c[i].limb(j), gaussian_residue(value, scalar_scale, ring.ntt(j)), ring.n(),
               ring.q(j));
  });
  return out;
}

Ciphertext Evaluator::multiply_by_i(const Ciphertext& a, int power) const {
  power &= 3;
  if (power == 0) return a.clone();
  if (power == 2) return negate(a);
  Ciphertext out = uninitialised(a);
  const Ring& ring = context_.ring();
  evaluator_internal::for_each_limb(a.level() + 1, [&](int i, int j) {
    scale_limb(out.c[i].limb(j), a.c[i].limb(j),
               gaussian_residue({0, power == 1 ? 1.0 : -1.0}, Scale(1), ring.ntt(j)), ring.n(), ring.q(j));
  });
  return out;
}

// ---- levels ----------------------------------------------------------------------------------------------

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  evaluator_internal::check_level("rescale", a.level(), 1);
  return {switcher_.rescale(a.c[0], a.c[1]), context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

void Evaluator::rescale_inplace(Ciphertext& a) const { a = rescale(a); }

Ciphertext Evaluator::truncate_to_level(const Ciphertext& a, Level target) const {
  evaluator_internal::check_level("truncate_to_level", a.level(), target);
  return {
      {a.c[0].clone_prefix({target + 1, 0}), a.c[1].clone_prefix({target + 1, 0})}, a.scale(), a.fingerprint};
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, Level target) const {
  evaluator_internal::check_level("drop_to_level", a.level(), target);
  if (a.scale() == context_.scale(target)) return truncate_to_level(a, target);
  evaluator_internal::check_level("drop_to_level with a change of scale", a.level(), target + 1);
  const Scale scalar_scale(before_rescale(context_.scale(target), context_.q(target + 1)) / a.scale());
  if (scalar_scale < 0x1p16) {
    throw Error(message("drop_to_level: a ciphertext of scale 2^", std::log2(a.scale()),
                        " cannot reach scale 2^", std::log2(context_.scale(target)), " at level ", target,
                        " precisely; rescale it first"));
  }
  Ciphertext out = rescale(multiply_scalar(truncate_to_level(a, target + 1), 1.0, scalar_scale));
  out.settle_scale(context_.scale(target));
  return out;
}

}  // namespace psm::ckks
