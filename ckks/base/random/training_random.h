// Repeatable random numbers for data and training. Cryptography never takes this class: it is predictable.
//
// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a 64-bit counter passed through a mixing function. Its state
// is one number. So `--seed` fixes everything, and a stream can be split by index without being run.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "ckks/base/error.h"

namespace psm {

class TrainingRandom {
 public:
  explicit TrainingRandom(uint64_t seed) : state_(mix(seed)) {}

  // An independent stream for item `index` (an example, a parameter).
  TrainingRandom split(uint64_t index) const { return TrainingRandom(state_ ^ mix(index + kStep)); }

  uint64_t next_u64() { return mix(state_ += kStep); }
  // Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform in {0, ..., n - 1}; n >= 1. Multiply-shift with rejection, so without bias.
  uint64_t integer(uint64_t n) {
    PSM_CHECK(n >= 1);
    const uint64_t excess = (0 - n) % n;  // 2^64 mod n
    for (;;) {
      const unsigned __int128 product = static_cast<unsigned __int128>(next_u64()) * n;
      if (static_cast<uint64_t>(product) >= excess) return static_cast<uint64_t>(product >> 64);
    }
  }
  // Standard normal: Box-Muller, one of the pair (the other is not kept, so that the state stays one number).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  // The whole state, for checkpoints: TrainingRandom::resume(r.state()) continues where r was.
  uint64_t state() const { return state_; }
  static TrainingRandom resume(uint64_t state) {
    TrainingRandom random(0);
    random.state_ = state;
    return random;
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

// Numbers uniform in [-1, 1] + i [-1, 1].
inline std::vector<std::complex<double>> random_slots(uint64_t seed, size_t count) {
  TrainingRandom random(seed);
  std::vector<std::complex<double>> values(count);
  for (auto& value : values) {
    const double re = random.uniform(-1, 1);
    value = {re, random.uniform(-1, 1)};
  }
  return values;
}

}  // namespace psm
