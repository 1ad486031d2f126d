#include "ckks/base/testing/repeatable_random.h"

#include <sys/random.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace psm {
namespace {

std::atomic<uint64_t> position{0};

// SplitMix64 by position: good enough to look random, and nothing more is asked of it.
uint64_t word(uint64_t i) {
  uint64_t z = i * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

void restart_kernel_randomness() { position = 0; }

}  // namespace psm

extern "C" ssize_t getrandom(void* out, size_t bytes, unsigned) {
  uint8_t* destination = static_cast<uint8_t*>(out);
  for (size_t done = 0; done < bytes; done += 8) {
    const uint64_t value = psm::word(++psm::position);
    std::memcpy(destination + done, &value, bytes - done < 8 ? bytes - done : 8);
  }
  return static_cast<ssize_t>(bytes);
}
