// Sums and products residue by residue, of whole polynomials.
//
//     Combine          out_i (+)= sum_t f_t a_{t,i}, f_t integers
//     GaussianProduct  out_i = z a_i or out_i = a_i + z, z = real + imag X^(N/2) as its two residues a limb
//     ProductSums      Engine::multiply_sums, a stretch of its products at a time
//     PlainProduct     out_i = a_i b or a_i + b, b constant on runs
#pragma once

#include "ckks/device/programs/block_program.h"

namespace psm::ckks {

// A thread's place in `polys` polynomials of one basis.
struct ElementPlace {
  int poly, j;
  uint64_t at;    // in the limb
  uint64_t word;  // in the polynomial

  constexpr ElementPlace(Place place, int log_n, int limbs) : poly(0), j(0), at(0), word(0) {
    const uint32_t chunks = OfElements::chunks(log_n), part = place.block / chunks;
    poly = static_cast<int>(part) / limbs;
    j = static_cast<int>(part) % limbs;
    at = static_cast<uint64_t>(place.block % chunks) * kElementThreads + place.thread;
    word = (static_cast<uint64_t>(j) << log_n) + at;
  }
};

// The common part of such programs.
struct Elementwise : OfElements {
  int log_n;
  LimbPrimes primes;  // of the results
  int polys;          // results
  uint64_t* out[3];

  uint32_t blocks() const { return static_cast<uint32_t>(polys * primes.limbs()) * chunks(log_n); }
  // That many limbs of operands and results and of products for each limb of the basis.
  Work work_of(int words, int products) const {
    const uint64_t limbs = static_cast<uint64_t>(primes.limbs()) << log_n;
    return {limbs * 8 * static_cast<uint64_t>(words), limbs * static_cast<uint64_t>(products)};
  }
};

constexpr int kMaxTerms = 32;

struct Combine : Elementwise {
  static constexpr const char* kName = "combine";
  int terms;
  bool accumulate;
  const uint64_t* a[kMaxTerms][3];
  int64_t factor[kMaxTerms];

  Work work() const { return work_of(polys * (terms + 1 + (accumulate ? 1 : 0)), polys * terms); }

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const ElementPlace e(place, log_n, primes.limbs());
    const Modulus m = primes.modulus(e.j);
    uint64_t sum = accumulate ? out[e.poly][e.word] : 0;
    for (int t = 0; t < terms; ++t) {
      const uint64_t value = a[t][e.poly][e.word];
      if (factor[t] == 1) {
        sum = add_mod(sum, value, m);
      } else if (factor[t] == -1) {
        sum = sub_mod(sum, value, m);
      } else {
        sum = add_mod(sum, mul_mod(value, reduce_signed(factor[t], m), m), m);
      }
    }
    out[e.poly][e.word] = sum;
  }
};

// The common part of two of them: out_i = c a_i or a_i + c, c a number that they find at each place.
struct WithNumbers : Elementwise {
  bool adds;
  const uint64_t* a[2];

  Work work() const { return work_of(2 * polys, adds ? 0 : polys); }
  constexpr void meet(const ElementPlace& e, uint64_t c) const {
    const Modulus m = primes.modulus(e.j);
    const uint64_t value = a[e.poly][e.word];
    out[e.poly][e.word] = adds ? add_mod(value, c, m) : mul_mod(value, c, m);
  }
};

struct GaussianProduct : WithNumbers {
  static constexpr const char* kName = "gaussian product";
  uint64_t z[kMaxDeviceLimbs][2];  // residues on the first and on the second half of limb j

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const ElementPlace e(place, log_n, primes.limbs());
    meet(e, z[e.j][e.at >> (log_n - 1)]);
  }
};

struct PlainProduct : WithNumbers {
  static constexpr const char* kName = "plain product";
  int log_run;  // limb j of b begins at j 2^(log_n - log_run)
  const uint64_t* b;

  Work work() const {
    Work work = WithNumbers::work();
    work.bytes += static_cast<uint64_t>(primes.limbs()) * 8 << (log_n - log_run);
    return work;
  }

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const ElementPlace e(place, log_n, primes.limbs());
    meet(e, b[e.word >> log_run]);
  }
};

constexpr int kMaxFactors = 48;

struct ProductSums : Elementwise {
  static constexpr const char* kName = "product sums";
  int count;
  bool doubled, accumulate;
  const uint64_t *a[kMaxFactors][2], *b[kMaxFactors][2];

  uint32_t blocks() const { return Elementwise::blocks() / 3; }  // a thread makes all three
  Work work() const { return work_of(4 * count + 3 + (accumulate ? 3 : 0), 4 * count); }

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const ElementPlace e(place, log_n, primes.limbs());
    const Modulus m = primes.modulus(e.j);
    SplitSum sum0, sum1, sum2;
    for (int k = 0; k < count; ++k) {
      const Halves a0(a[k][0][e.word]), a1(a[k][1][e.word]), b0(b[k][0][e.word]), b1(b[k][1][e.word]);
      sum0.add(a0, b0);
      sum1.add(a0, b1);
      sum1.add(a1, b0);
      sum2.add(a1, b1);
    }
    store(0, e, sum0.residue(m), m);
    store(1, e, sum1.residue(m), m);
    store(2, e, sum2.residue(m), m);
  }

 private:
  constexpr void store(int i, const ElementPlace& e, uint64_t value, const Modulus& m) const {
    if (doubled) value = add_mod(value, value, m);
    out[i][e.word] = accumulate ? add_mod(out[i][e.word], value, m) : value;
  }
};

}  // namespace psm::ckks
