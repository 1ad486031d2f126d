// Randomness for cryptography, from the kernel (getrandom(2)):
//
//   SecureRandom  secrets and errors: ChaCha20 keyed by the kernel
//   fresh_seed()  seeds that are published: each one straight from the kernel
//
// They share no state: whoever knows every seed ever published knows nothing of a secret stream. `--seed`
// flags reach neither: there is no way to seed them, and a secret stream cannot be copied or stored.
//
// Repetition. An error or a seed that is used twice can give the secret away.
//   fork      the child re-keys before it draws; seeds have no state that a fork could copy.
//   resume of a process image (a virtual machine's snapshot): buffered bytes are drawn again. Therefore
//             everything that encrypts calls renew() before it draws its errors, which drops all buffered
//             bytes. A snapshot of an unfinished encryption or key is not covered: resumed twice, it repeats
//             the seed with other errors.
//   a file holds no state of either; a run that continues from a file draws anew.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "ckks/base/random/chacha.h"

namespace psm {

// The stream of secrets and errors. Each refill replaces its own key by the first 32 bytes it produced. Bytes
// are wiped when they are given out. So a later leak of the state reveals nothing drawn before. No branch and
// no address depends on what is drawn.
//
// Not thread-safe; make one per thread (construction costs one system call).
class SecureRandom {
 public:
  SecureRandom() { renew(); }
  ~SecureRandom();
  SecureRandom(const SecureRandom&) = delete;
  SecureRandom& operator=(const SecureRandom&) = delete;

  void fill(void* out, size_t bytes);
  uint64_t next_u64();
  // Forgets key and buffer and takes a new key from the kernel: one system call.
  void renew();

 private:
  static constexpr size_t kBufferBlocks = 64;

  void refill();

  std::array<uint32_t, 8> key_;
  size_t used_ = 0;  // bytes of buffer_ already given out
  pid_t process_ = 0;
  uint64_t fork_generation_ = 0;
  alignas(64) std::array<uint8_t, kBufferBlocks * 64> buffer_;
};

// The seed of the uniform half `a` of one key or one ciphertext, whose digits and limbs are streams of their own
// (scheme/public/ciphertext.h). Thread-safe.
Seed fresh_seed();
// A public name drawn at random, never 0. Thread-safe.
uint64_t fresh_identifier();

}  // namespace psm
