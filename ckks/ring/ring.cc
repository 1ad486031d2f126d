#include "ckks/ring/ring.h"

#include "ckks/base/parallel.h"

namespace psm::ckks {

Ring::Ring(int log_n, const std::vector<uint64_t>& q, const std::vector<uint64_t>& p)
    : log_n_(log_n), q_count_(static_cast<int>(q.size())) {
  std::vector<uint64_t> primes = q;
  primes.insert(primes.end(), p.begin(), p.end());
  tables_.resize(primes.size());
  parallel_for(0, primes.size(),
               [&](size_t i) { tables_[i] = std::make_unique<const NttTables>(log_n, Modulus(primes[i])); });
}

}  // namespace psm::ckks
