// An attack laboratory on rings that offer no security: each attack finds the whole secret where its defence is
// missing, and nothing where it is there. Lesson 3 has one more: decryptions that others see (ckks/SECURITY.md, not
// claimed 2).
//
//     attack                               defence
//     a server that watches the client     it behaves the same whatever it decrypts (claim 16)
//     lattice reduction                    a modulus that is small for its ring     (claim 1)
#include <cmath>
#include <functional>
#include <vector>

#include "cmd/lessons/toy_ring.h"
#include "doctest/doctest.h"

namespace psm::lesson {
namespace {

using namespace toy;

Poly decrypt(const Pair& c, const Poly& s) { return c.c0 + c.c1 * s; }

int right(const Poly& guess, const Poly& s) {
  const Poly a = coefficients(guess), b = coefficients(s);
  int count = 0;
  for (int k = 0; k < kN; ++k) count += a[k] == b[k];
  return count;
}

// At most 40 of 64 by guessing coefficients in {-1, 0, 1}: more come once in 10^6.
constexpr int kByChance = 40;

// What the server sees of a client that decrypts (A X^k, A): the coefficients of A X^k + A s, which all lie in [-A, A]
// but the one at k, if s_k = 1. Two questions a coefficient.
Poly by_reactions(const std::function<bool(const Pair&)>& reacts) {
  constexpr double kLarge = 0x1p30;
  std::vector<int> found(kN);
  for (int k = 0; k < kN; ++k)
    for (const int sign : {1, -1}) {
      const auto at = [](double value, int place) {
        return polynomial([=](int i) { return i == place ? value : 0; });
      };
      if (reacts({at(sign * kLarge, k), at(kLarge, 0)})) found[k] = sign;
    }
  return polynomial([&](int k) { return found[k]; });
}

TEST_CASE(
    "a client that reacts to numbers that are too large gives the secret; one that never reacts does not") {
  const Poly s = ternary();
  const auto complains = [&](const Pair& c) {
    for (const uint64_t value : coefficients(decrypt(c, s)))
      if (std::abs(static_cast<double>(centered(value, q))) > 1.5 * 0x1p30) return true;
    return false;
  };
  CHECK(right(by_reactions(complains), s) == kN);
  const auto goes_on = [&](const Pair& c) { return decrypt(c, s).empty(); };
  CHECK(right(by_reactions(goes_on), s) < kByChance);
}

using Basis = std::vector<std::vector<long double>>;

long double dot(const std::vector<long double>& a, const std::vector<long double>& b) {
  long double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Lenstra, Lenstra, Lovasz, "Factoring polynomials with rational coefficients", 1982, with delta = 0.99.
void reduce(Basis& b) {
  const size_t n = b.size();
  Basis orthogonal = b, mu(n, std::vector<long double>(n));
  const auto project = [&](size_t k) {
    orthogonal[k] = b[k];
    for (size_t j = 0; j < k; ++j) {
      mu[k][j] = dot(b[k], orthogonal[j]) / dot(orthogonal[j], orthogonal[j]);
      for (size_t i = 0; i < n; ++i) orthogonal[k][i] -= mu[k][j] * orthogonal[j][i];
    }
  };
  project(0);
  for (size_t k = 1; k < n;) {
    project(k - 1), project(k);
    for (size_t j = k; j-- > 0;) {
      const long double times = std::round(mu[k][j]);
      for (size_t i = 0; i < n; ++i) b[k][i] -= times * b[j][i];
      for (size_t i = 0; i < j; ++i) mu[k][i] -= times * mu[j][i];
      mu[k][j] -= times;
    }
    const long double before = dot(orthogonal[k - 1], orthogonal[k - 1]),
                      m = mu[k][k - 1];
    if (dot(orthogonal[k], orthogonal[k]) >= (0.99L - m * m) * before) {
      ++k;
    } else {
      std::swap(b[k], b[k - 1]);
      k = std::max<size_t>(k - 1, 1);
    }
  }
}

// Whether lattice reduction finds s from b = -a s + e modulo X^n + 1 and the modulus (Kannan's embedding): (e, s, 1) is
// short in the lattice of all (x, y, t) with x = t b + a y modulo the modulus.
bool finds_secret(int n, int64_t modulus, uint64_t seed) {
  TrainingRandom random(seed);
  std::vector<int64_t> a(n), s(n), b(n);
  const auto mod = [&](__int128 x) {
    return static_cast<int64_t>((x % modulus + modulus) % modulus);
  };
  // Coefficient i of X^j times the polynomial.
  const auto shifted = [&](const std::vector<int64_t>& p, int i, int j) {
    return i >= j ? p[i - j] : -p[i - j + n];
  };
  for (int i = 0; i < n; ++i)
    a[i] = static_cast<int64_t>(random.integer(static_cast<uint64_t>(modulus)));
  for (int i = 0; i < n; ++i) s[i] = static_cast<int64_t>(random.integer(3)) - 1;
  for (int i = 0; i < n; ++i) {
    __int128 sum = std::llround(3.2 * random.normal());
    for (int j = 0; j < n; ++j) sum -= static_cast<__int128>(shifted(a, i, j)) * s[j];
    b[i] = mod(sum);
  }
  const size_t size = static_cast<size_t>(2 * n + 1);
  Basis basis(size, std::vector<long double>(size));
  for (int j = 0; j < n; ++j) {
    basis[j][j] = static_cast<long double>(modulus);
    for (int i = 0; i < n; ++i)
      basis[n + j][i] = static_cast<long double>(shifted(a, i, j));
    basis[n + j][n + j] = 1;
    basis[2 * n][j] = static_cast<long double>(b[j]);
  }
  basis[2 * n][2 * n] = 1;
  reduce(basis);
  for (const auto& row : basis) {
    bool same = std::abs(row[2 * n]) == 1;
    for (int j = 0; same && j < n; ++j)
      same = row[n + j] * row[2 * n] == static_cast<long double>(s[j]);
    if (same) return true;
  }
  return false;
}

TEST_CASE(
    "lattice reduction finds the secret of a ring whose modulus is too large for it, and not of a smaller one") {
  constexpr int kRing = 16;
  int found = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    CHECK(finds_secret(kRing, (int64_t{1} << 20) + 7, seed));
    found += finds_secret(kRing, 31, seed);
  }
  CHECK(found == 0);
}

}  // namespace
}  // namespace psm::lesson
