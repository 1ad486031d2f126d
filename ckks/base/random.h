// The source of all secret randomness: ChaCha20 keyed by the kernel (getrandom(2)).
//
// Each refill replaces its own key by the first 32 bytes it produced and wipes what it gives out, so a later
// leak of the state reveals nothing drawn before. A process that forks re-keys from the kernel in the child:
// the two never give out the same bytes. `--seed` flags never reach this class: there is no way to seed it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "ckks/base/chacha.h"

namespace psm {

// Not thread-safe; make one per thread (construction costs one system call).
class SecureRandom {
 public:
  SecureRandom();
  ~SecureRandom();
  SecureRandom(const SecureRandom&) = delete;
  SecureRandom& operator=(const SecureRandom&) = delete;

  void fill(void* out, size_t bytes);
  uint64_t next_u64();
  // A fresh seed for a public stream. It is drawn from the secret stream, which it does not reveal.
  Seed public_seed();

 private:
  static constexpr size_t kBufferBlocks = 64;

  void rekey_from_kernel();
  void refill();

  std::array<uint32_t, 8> key_;
  size_t used_ = 0;  // bytes of buffer_ already given out
  pid_t process_ = 0;
  uint64_t fork_generation_ = 0;
  alignas(64) std::array<uint8_t, kBufferBlocks * 64> buffer_;
};

}  // namespace psm
