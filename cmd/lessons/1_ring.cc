// Lesson 1. The ring Z_q[X] / (X^N + 1), the transform that multiplies in it, and
// integers larger than a prime as residues modulo several.
#include "1_ring.h"  // the function to write: of exercises/, or of solutions/

#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"

using namespace psm::lesson;

// The product as it is defined: X^N = -1, so what passes the end changes its sign.
Poly by_definition(const Poly& a, const Poly& b, const Modulus& q) {
  const size_t n = a.size();
  Poly c(n, 0);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      uint64_t& sum = c[(i + j) % n];
      sum = (i + j < n ? add_mod : sub_mod)(sum, mul_mod(a[i], b[j], q), q);
    }
  return c;
}

// A[j] = a(psi^(2 brv(j) + 1)): since psi^N = -1, at the N roots of X^N + 1.
Poly at_the_roots(const Poly& a, const NttTables& ntt) {
  const Modulus& q = ntt.modulus();
  Poly values(a.size(), 0);
  for (size_t j = 0; j < a.size(); ++j) {
    const uint64_t x = pow_mod(ntt.psi(), 2 * reverse_bits(j, ntt.log_n()) + 1, q);
    for (size_t i = a.size(); i-- > 0;)
      values[j] = add_mod(mul_mod(values[j], x, q), a[i], q);
  }
  return values;
}

// The library's transform, and the way back.
Poly fast_transform(Poly a, const NttTables& ntt) {
  kernels().ntt_forward(a.data(), a.data(), ntt);
  return a;
}
Poly back(Poly a, const NttTables& ntt) {
  kernels().ntt_inverse(a.data(), a.data(), ntt);
  return a;
}

// The same product: to values at N points, multiply those, and back.
Poly by_transform(const Poly& a, const Poly& b, const NttTables& ntt, auto transform) {
  Poly c = transform(a, ntt);
  const Poly d = transform(b, ntt);
  for (size_t j = 0; j < c.size(); ++j) c[j] = mul_mod(c[j], d[j], ntt.modulus());
  return back(c, ntt);
}

int main() {
  title("Lesson 1: the ring and its transform");
  say("INSECURE: N = 8 fits on a board; the default ring has N = 65536.");
  const Modulus q(97), r(113);
  const NttTables modulo_q(3, q), modulo_r(3, r);
  const Poly a{1, 2, 0, 3, 0, 0, 4, 0}, b{5, 0, 6, 0, 0, 7, 0, 8};
  section("A product modulo X^8 + 1 and 97, by its definition and by transforms",
          "Both ways give the same product; a transform is the values at the roots.");
  row("a", a);
  row("b", b);
  row("a b by its definition", by_definition(a, b, q));
  row("a at the roots of X^8 + 1", at_the_roots(a, modulo_q));
  with_exercise([&] {
    row("your transform of a", transform(a, modulo_q));
    row("a b by your transform", by_transform(a, b, modulo_q, transform));
  });
  section("Residues modulo 97 and 113 are integers modulo their product",
          "From both residues of a b come its coefficients in whole numbers.");
  const Poly x = by_definition(a, b, q);
  const Poly y = by_transform(a, b, modulo_r, fast_transform);
  row("a b modulo 113", y);
  std::vector<int64_t> whole;  // v + 97 w, v = x mod 97, w = (y - v) / 97 mod 113
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t v = centered(x[i], q);
    const uint64_t above = sub_mod(y[i], reduce_signed(v, r), r);
    whole.push_back(v + 97 * centered(mul_mod(above, inverse_mod(97, r), r), r));
  }
  row("a b in whole numbers", whole);
  section("Why transforms: N = 4096 and a prime of 50 bits",
          "Transforms take a small part of the definition's time for the same product.");
  const NttTables large(12, Modulus(prime_near(0x1p49, 12)));
  const Poly p(4096, 3);
  Poly slow, fast, yours;
  const auto product = [&](auto way) { return by_transform(p, p, large, way); };
  line("seconds by definition",
       seconds([&] { slow = by_definition(p, p, large.modulus()); }));
  line("seconds by the library's transform",
       seconds([&] { fast = product(fast_transform); }));
  line("the same product", slow == fast);
  with_exercise([&] {
    line("seconds by your transform", seconds([&] { yours = product(transform); }));
    line("yours is the same product", slow == yours);
  });
}
