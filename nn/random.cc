#include "nn/random.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace psm {

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t rejected = -bound % bound;  // 2^64 mod bound
  std::uint64_t word = next();
  while (word < rejected) word = next();
  return word % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace psm
