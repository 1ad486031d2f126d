#include "ckks/ring/arithmetic/ntt.h"

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// A primitive 2^log_order-th root of unity: g^((q-1) / 2^log_order) for the first g whose half-order power is -1.
uint64_t primitive_root(int log_order, const Modulus& m) {
  for (uint64_t g = 2; g < m.value; ++g) {
    const uint64_t root = pow_mod(g, (m.value - 1) >> log_order, m);
    if (pow_mod(root, uint64_t{1} << (log_order - 1), m) == m.value - 1) return root;
  }
  PSM_CHECK(false, "no primitive root: ", m.value, " is not prime");
}

void fill_roots(uint64_t root, int log_n, const Modulus& m, Buffer& values, Buffer& quotients) {
  const size_t n = size_t{1} << log_n;
  values = Buffer(n);
  quotients = Buffer(n);
  const Multiplier step = make_multiplier(root, m);
  uint64_t power = 1;
  for (size_t exponent = 0; exponent < n; ++exponent, power = mul_mod(power, step, m)) {
    const size_t i = reverse_bits(exponent, log_n);
    values[i] = power;
    quotients[i] = make_multiplier(power, m).quotient;
  }
}

}  // namespace

NttTables::NttTables(int log_n, const Modulus& modulus) {
  PSM_CHECK(log_n >= 3 && log_n <= 17, "log_n = ", log_n);
  PSM_CHECK((modulus.value - 1) % (uint64_t{2} << log_n) == 0, "q = ", modulus.value, " log_n = ", log_n);
  psi_ = primitive_root(log_n + 1, modulus);
  fill_roots(psi_, log_n, modulus, roots_, root_quotients_);
  fill_roots(inverse_mod(psi_, modulus), log_n, modulus, inverse_roots_, inverse_root_quotients_);
  const uint64_t inverse_n = inverse_mod(uint64_t{1} << log_n, modulus);
  view_ = {.log_n = log_n,
           .modulus = modulus,
           .roots = roots_.data(),
           .root_quotients = root_quotients_.data(),
           .inverse_roots = inverse_roots_.data(),
           .inverse_root_quotients = inverse_root_quotients_.data(),
           .inverse_n = make_multiplier(inverse_n, modulus),
           .inverse_n_root = make_multiplier(mul_mod(inverse_n, inverse_roots_[1], modulus), modulus)};
}

}  // namespace psm::ckks
