// The generator of data and training: fast, seedable, the same on every machine; its state is four words,
// so that a resumed training goes on exactly where it stopped. Never for keys or encryption.
//
// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018), seeded by
// splitmix64. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace psm {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform on 0 .. bound - 1, without bias (rejection).
  std::uint64_t below(std::uint64_t bound);
  // Uniform on [0, 1), 53 bits.
  double uniform();
  // Standard normal (Box-Muller, one value from two uniforms so that no half is left in the state).
  double normal();

  const std::array<std::uint64_t, 4>& state() const { return state_; }
  void set_state(const std::array<std::uint64_t, 4>& state) { state_ = state; }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace psm
