// Ring: Z_Q[X] / (X^N + 1) for a chain of primes q_0 .. q_{L} and special primes p_0 .. p_{k-1}.
//
// Primes are indexed q_0 .. q_L first, then p_0 .. p_{k-1}; a Basis selects a prefix of each kind, so that
// limb j of a polynomial belongs to the prime ring.prime_index(basis, j). Immutable, thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/ring/basis.h"

namespace psm::ckks {

class Ring {
 public:
  Ring(int log_n, const std::vector<uint64_t>& q, const std::vector<uint64_t>& p)
      : log_n_(log_n), q_count_(static_cast<int>(q.size())), tables_(q.size() + p.size()) {
    parallel_for(0, tables_.size(), [&](size_t i) {
      const uint64_t prime = i < q.size() ? q[i] : p[i - q.size()];
      tables_[i] = std::make_unique<const NttTables>(log_n, Modulus(prime));
    });
  }

  int log_n() const { return log_n_; }
  size_t n() const { return size_t{1} << log_n_; }
  int q_count() const { return q_count_; }
  int p_count() const { return static_cast<int>(tables_.size()) - q_count_; }
  Basis full_basis() const { return {q_count_, p_count()}; }

  int prime_index(Basis basis, int limb) const { return limb < basis.q ? limb : q_count_ + limb - basis.q; }
  // The limb of this prime; the basis must have it.
  int limb_of(Basis basis, int prime_index) const {
    return prime_index < q_count_ ? prime_index : basis.q + prime_index - q_count_;
  }
  const NttTables& ntt(int prime_index) const { return *tables_[prime_index]; }
  const Modulus& modulus(int prime_index) const { return tables_[prime_index]->modulus(); }
  const Modulus& q(int i) const { return modulus(i); }
  const Modulus& p(int i) const { return modulus(q_count_ + i); }

 private:
  int log_n_;
  int q_count_;
  std::vector<std::unique_ptr<const NttTables>> tables_;
};

}  // namespace psm::ckks
