#include "ckks/scheme/server/textbook_key_switch.h"

#include <vector>

namespace psm::ckks::textbook {
namespace {

// The integer in (-D/2, D/2) with residues x[i] modulo primes r[i], D their product, as Garner's digits
//     v_0 + r_0 (v_1 + r_1 (v_2 + ...)),   |v_i| < r_i / 2.
// All r_i are odd, so such digits give every integer of the interval once: the representative nearest to
// zero.
struct Centred {
  std::vector<int64_t> v;
  std::vector<Modulus> r;

  uint64_t modulo(const Modulus& m) const {
    uint64_t sum = 0;
    for (size_t i = v.size(); i-- > 0;) {
      sum = add_mod(mul_mod(sum, reduce_mod(r[i].value, m), m), reduce_signed(v[i], m), m);
    }
    return sum;
  }
  void append(uint64_t x, const Modulus& m) {
    uint64_t product = 1;
    for (const Modulus& before : r) product = mul_mod(product, reduce_mod(before.value, m), m);
    v.push_back(centered(mul_mod(sub_mod(x, modulo(m), m), inverse_mod(product, m), m), m));
    r.push_back(m);
  }
};

// [x]_D modulo the primes of `to`, D the product of those of the limbs [begin, end) of x. Coefficients.
RnsPoly lift(const RnsPoly& x, int begin, int end, Basis to) {
  RnsPoly out(x.ring(), to, Form::kCoefficient);
  for (size_t k = 0; k < x.n(); ++k) {
    Centred integer;
    for (int j = begin; j < end; ++j) integer.append(x.limb(j)[k], x.modulus(j));
    for (int j = 0; j < to.limbs(); ++j) out.limb(j)[k] = integer.modulo(out.modulus(j));
  }
  return out;
}

}  // namespace

std::array<RnsPoly, 2> sum_over_digits(const Context& context, const RnsPoly& c, const KeySwitchKey& key) {
  const Level level = level_of(c.basis());
  const Basis basis{level + 1, key.p_count};
  RnsPoly coefficients = c.clone();
  to_coefficients(coefficients);
  std::array<RnsPoly, 2> x = {RnsPoly::zero(c.ring(), basis, Form::kNtt),
                              RnsPoly::zero(c.ring(), basis, Form::kNtt)};
  for (int i = 0; i < context.digit_count(level); ++i) {
    const DigitRange primes = context.digit(i, level);
    RnsPoly d = lift(coefficients, primes.begin, primes.end, basis);
    to_ntt(d);
    multiply_add(x[0], d, key.digits[i].b.unpack().clone_prefix(basis));
    multiply_add(x[1], d, key.digits[i].a.unpack().clone_prefix(basis));
  }
  return x;
}

RnsPoly mod_down(const RnsPoly& x, bool rescale) {
  const int kept = x.basis().q - (rescale ? 1 : 0);
  RnsPoly coefficients = x.clone();
  to_coefficients(coefficients);
  RnsPoly out =
      lift(coefficients, kept, x.limbs(), {kept, 0});  // [x]_P or, with the limb of q_l, [x]_{P q_l}
  subtract(out, coefficients.clone_prefix({kept, 0}), out);
  for (int j = 0; j < kept; ++j) {
    const Modulus& m = out.modulus(j);
    uint64_t divisor = 1;
    for (int i = kept; i < x.limbs(); ++i) divisor = mul_mod(divisor, reduce_mod(x.modulus(i).value, m), m);
    const uint64_t inverse = inverse_mod(divisor, m);
    for (size_t k = 0; k < out.n(); ++k) out.limb(j)[k] = mul_mod(out.limb(j)[k], inverse, m);
  }
  to_ntt(out);
  return out;
}

std::array<RnsPoly, 2> switch_key(const Context& context, const RnsPoly& c, const KeySwitchKey& key) {
  const std::array<RnsPoly, 2> x = sum_over_digits(context, c, key);
  return {mod_down(x[0]), mod_down(x[1])};
}

}  // namespace psm::ckks::textbook
