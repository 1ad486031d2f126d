// Sums, plaintext and scalar operands, changes of level.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm {

using namespace evaluator_internal;

namespace {

void check_pair(const char* operation, const Ciphertext& a, const Ciphertext& b) {
  check_fingerprints(operation, a.fingerprint, b.fingerprint);
  check_levels(operation, a.level(), b.level());
  check_scales(operation, a.scale, b.scale);
}

void check_plain(const char* operation, const Context& context, const Plaintext& b, Basis basis) {
  PSM_CHECK(&b.ring() == &context.ring(), "plaintext of another ring");
  check_levels(operation, basis.q - 1, b.level());
  PSM_CHECK(basis.p == 0 || b.basis().p == basis.p, operation, ": plaintext without special primes");
}

Ciphertext uninitialised(const Ciphertext& like) {
  return {{RnsPoly(like.c[0].ring(), like.c[0].basis(), Form::kNtt),
           RnsPoly(like.c[0].ring(), like.c[0].basis(), Form::kNtt)},
          like.scale,
          like.fingerprint};
}

// out (+)= a * plaintext limb, where `b` holds one value for each run.
void multiply_limb(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t run, size_t n,
                   const Modulus& m, bool accumulate) {
  constexpr size_t kLongRun = 64;  // from here on preparing a constant costs less than it saves
  if (run == 1) {
    accumulate ? kernels().multiply_add(out, a, b, n, m) : kernels().multiply(out, a, b, n, m);
  } else if (run >= kLongRun) {
    const auto kernel = accumulate ? kernels().scale_add : kernels().scale;
    for (size_t i = 0; i < n; i += run) kernel(out + i, a + i, make_multiplier(b[i / run], m), run, m);
  } else {
    kernels().run_matrix_product(&out, 1, &a, 1, &b, run, n, m, accumulate);
  }
}

// out (+)= a * (low on the first half, high on the second).
void scale_limb(uint64_t* out, const uint64_t* a, GaussianResidue c, size_t n, const Modulus& m,
                bool accumulate) {
  const auto kernel = accumulate ? kernels().scale_add : kernels().scale;
  kernel(out, a, make_multiplier(c.low, m), n / 2, m);
  kernel(out + n / 2, a + n / 2, make_multiplier(c.high, m), n / 2, m);
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
  for (int i : {0, 1}) psm::add(out.c[i], a.c[i], b.c[i]);
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
  for (int i : {0, 1}) psm::negate(out.c[i], a.c[i]);
  return out;
}

void Evaluator::add_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", a, b);
  for (int i : {0, 1}) psm::add(a.c[i], a.c[i], b.c[i]);
}

void Evaluator::sub_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("sub", a, b);
  for (int i : {0, 1}) subtract(a.c[i], a.c[i], b.c[i]);
}

void Evaluator::negate_inplace(Ciphertext& a) const {
  for (int i : {0, 1}) psm::negate(a.c[i], a.c[i]);
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("add_plain", context_, b, a.c[0].basis());
  check_scales("add_plain", a.scale, b.scale());
  Ciphertext out = a.clone();
  const RnsPoly addend = b.expand().clone_prefix(a.c[0].basis());
  psm::add(out.c[0], out.c[0], addend);
  return out;
}

Ciphertext Evaluator::sub_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("sub_plain", context_, b, a.c[0].basis());
  check_scales("sub_plain", a.scale, b.scale());
  Ciphertext out = a.clone();
  const RnsPoly subtrahend = b.expand().clone_prefix(a.c[0].basis());
  subtract(out.c[0], out.c[0], subtrahend);
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
    add_constant_limb(a.c[0].limb(j), gaussian_residue(value, a.scale, ring.ntt(j)), ring.n(), ring.q(j));
  });
}

// ---- products by plaintexts ------------------------------------------------------------------------------

Ciphertext Evaluator::multiply_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("multiply_plain", context_, b, a.c[0].basis());
  Ciphertext out = uninitialised(a);
  out.scale = a.scale * b.scale();
  const size_t run = static_cast<size_t>(b.run_length());
  for_each_limb(a.level() + 1, [&](int i, int j) {
    multiply_limb(out.c[i].limb(j), a.c[i].limb(j), b.limb(j), run, a.c[i].n(), a.c[i].modulus(j), false);
  });
  return out;
}

void Evaluator::multiply_plain_add(Ciphertext& acc, const Ciphertext& a, const Plaintext& b) const {
  check_plain("multiply_plain_add", context_, b, a.c[0].basis());
  check_fingerprints("multiply_plain_add", acc.fingerprint, a.fingerprint);
  check_levels("multiply_plain_add", acc.level(), a.level());
  check_scales("multiply_plain_add", acc.scale, a.scale * b.scale());
  const size_t run = static_cast<size_t>(b.run_length());
  for_each_limb(a.level() + 1, [&](int i, int j) {
    multiply_limb(acc.c[i].limb(j), a.c[i].limb(j), b.limb(j), run, a.c[i].n(), a.c[i].modulus(j), true);
  });
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& a, std::complex<double> value,
                                      double scalar_scale) const {
  if (scalar_scale == 0) {
    check_level("multiply_scalar", a.level(), 1);
    const double needed =
        context_.scale(a.level() - 1) * static_cast<double>(context_.q(a.level())) / a.scale;
    // Equal but for rounding: then the product of two canonical scales, which rescales to the canonical one.
    scalar_scale = std::abs(needed / a.scale - 1) < 0x1p-46 ? a.scale : needed;
  }
  Ciphertext out = uninitialised(a);
  out.scale = a.scale * scalar_scale;
  const Ring& ring = context_.ring();
  for_each_limb(a.level() + 1, [&](int i, int j) {
    scale_limb(out.c[i].limb(j), a.c[i].limb(j), gaussian_residue(value, scalar_scale, ring.ntt(j)), ring.n(),
               ring.q(j), false);
  });
  return out;
}

void Evaluator::multiply_scalar_add(Ciphertext& acc, const Ciphertext& a, std::complex<double> value,
                                    double scalar_scale) const {
  check_fingerprints("multiply_scalar_add", acc.fingerprint, a.fingerprint);
  check_levels("multiply_scalar_add", acc.level(), a.level());
  check_scales("multiply_scalar_add", acc.scale, a.scale * scalar_scale);
  const Ring& ring = context_.ring();
  for_each_limb(a.level() + 1, [&](int i, int j) {
    scale_limb(acc.c[i].limb(j), a.c[i].limb(j), gaussian_residue(value, scalar_scale, ring.ntt(j)), ring.n(),
               ring.q(j), true);
  });
}

Ciphertext Evaluator::multiply_integer(const Ciphertext& a, int64_t value) const {
  Ciphertext out = uninitialised(a);
  for_each_limb(a.level() + 1, [&](int i, int j) {
    const Modulus& m = a.c[i].modulus(j);
    kernels().scale(out.c[i].limb(j), a.c[i].limb(j), make_multiplier(reduce_signed(value, m), m), a.c[i].n(),
                    m);
  });
  return out;
}

Ciphertext Evaluator::multiply_by_i(const Ciphertext& a, int power) const {
  power &= 3;
  if (power == 0) return a.clone();
  if (power == 2) return negate(a);
  Ciphertext out = uninitialised(a);
  const Ring& ring = context_.ring();
  for_each_limb(a.level() + 1, [&](int i, int j) {
    scale_limb(out.c[i].limb(j), a.c[i].limb(j),
               gaussian_residue({0, power == 1 ? 1.0 : -1.0}, 1, ring.ntt(j)), ring.n(), ring.q(j), false);
  });
  return out;
}

// ---- levels ----------------------------------------------------------------------------------------------

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  check_level("rescale", a.level(), 1);
  const double scale =
      snap_scale(context_, a.scale / static_cast<double>(context_.q(a.level())), a.level() - 1);
  auto [c0, c1] = implementation_->switcher.rescale(a.c[0], a.c[1]);
  return {{std::move(c0), std::move(c1)}, scale, a.fingerprint};
}

void Evaluator::rescale_inplace(Ciphertext& a) const { a = rescale(a); }

Ciphertext Evaluator::truncate_to_level(const Ciphertext& a, int target) const {
  check_level("truncate_to_level", a.level(), target);
  return {
      {a.c[0].clone_prefix({target + 1, 0}), a.c[1].clone_prefix({target + 1, 0})}, a.scale, a.fingerprint};
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, int target) const {
  check_level("drop_to_level", a.level(), target);
  if (a.scale == context_.scale(target)) return truncate_to_level(a, target);
  check_level("drop_to_level with a change of scale", a.level(), target + 1);
  const double scalar_scale = context_.scale(target) * static_cast<double>(context_.q(target + 1)) / a.scale;
  if (scalar_scale < 0x1p16) {
    throw Error(message("drop_to_level: a ciphertext of scale 2^", std::log2(a.scale),
                        " cannot reach scale 2^", std::log2(context_.scale(target)), " at level ", target,
                        " precisely; rescale it first"));
  }
  Ciphertext out = rescale(multiply_scalar(truncate_to_level(a, target + 1), 1.0, scalar_scale));
  out.scale = context_.scale(target);
  return out;
}

}  // namespace psm
