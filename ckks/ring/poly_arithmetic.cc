#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/poly.h"

namespace psm::ckks {
namespace {

void check_alike(const RnsPoly& a, const RnsPoly& b) {
  PSM_CHECK(&a.ring() == &b.ring() && a.basis() == b.basis() && a.form() == b.form(), "basis ", a.basis().q,
            "+", a.basis().p, " and ", b.basis().q, "+", b.basis().p);
}

using Binary = void (*)(uint64_t*, const uint64_t*, const uint64_t*, size_t, const Modulus&);

void by_limbs(Binary kernel, RnsPoly& out, const RnsPoly& a, const RnsPoly& b) {
  check_alike(a, b);
  check_alike(out, a);
  parallel_for(0, a.limbs(), [&](int j) { kernel(out.limb(j), a.limb(j), b.limb(j), a.n(), a.modulus(j)); });
}

}  // namespace

void add(RnsPoly& out, const RnsPoly& a, const RnsPoly& b) { by_limbs(kernels().add, out, a, b); }
void subtract(RnsPoly& out, const RnsPoly& a, const RnsPoly& b) { by_limbs(kernels().subtract, out, a, b); }

void multiply(RnsPoly& out, const RnsPoly& a, const RnsPoly& b) {
  PSM_CHECK(a.form() == Form::kNtt);
  by_limbs(kernels().multiply, out, a, b);
}

void multiply_add(RnsPoly& out, const RnsPoly& a, const RnsPoly& b) {
  PSM_CHECK(a.form() == Form::kNtt);
  by_limbs(kernels().multiply_add, out, a, b);
}

RnsPoly automorphism(const RnsPoly& a, GaloisElement g) {
  PSM_CHECK(a.form() == Form::kNtt);
  RnsPoly out = a.clone();
  const auto table = automorphism_table(g, a.ring().log_n());
  parallel_for(0, a.limbs(), [&](int j) { kernels().automorphism(out.limb(j), a.limb(j), *table); });
  return out;
}

}  // namespace psm::ckks
