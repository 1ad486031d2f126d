#include "ckks/base/random/random.h"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/base/secrecy.h"

namespace psm {
namespace {

// Counts the forks behind this process. The process id alone would do but for its reuse: a grandchild may
// have the number of a dead ancestor.
std::atomic<uint64_t> forks{0};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

uint64_t fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  PSM_CHECK(registered == 0, "pthread_atfork failed: ", registered);
  return forks.load(std::memory_order_relaxed);
}

void kernel_random(void* out, size_t bytes) {
  uint8_t* destination = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t got = getrandom(destination, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(message("the kernel gave no random bytes (getrandom: ", std::strerror(errno),
                          "); keys cannot be made on this system"),
                  Error::Kind::kFailed);
    }
    destination += got;
    bytes -= static_cast<size_t>(got);
  }
}

}  // namespace

SecureRandom::~SecureRandom() {
  secure_zero(key_.data(), sizeof key_);
  secure_zero(buffer_.data(), buffer_.size());
}

void SecureRandom::renew() {
  kernel_random(key_.data(), sizeof key_);
  mark_secret(key_.data(), sizeof key_);
  refill();
  // Last: a child whose kernel gave nothing has no stream of its own yet.
  fork_generation_ = fork_generation();
  process_ = getpid();
}

void SecureRandom::refill() {
  chacha20_blocks(key_, 0, 0, buffer_.data(), kBufferBlocks);
  std::memcpy(key_.data(), buffer_.data(), sizeof key_);
  secure_zero(buffer_.data(), sizeof key_);
  used_ = sizeof key_;
}

void SecureRandom::fill(void* out, size_t bytes) {
  if (fork_generation_ != fork_generation() || process_ != getpid()) renew();
  uint8_t* destination = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    if (used_ == buffer_.size()) refill();
    const size_t taken = std::min(bytes, buffer_.size() - used_);
    std::memcpy(destination, buffer_.data() + used_, taken);
    secure_zero(buffer_.data() + used_, taken);
    used_ += taken;
    destination += taken;
    bytes -= taken;
  }
}

uint64_t SecureRandom::next_u64() {
  uint64_t value;
  fill(&value, sizeof value);
  return value;
}

Seed fresh_seed() {
  Seed seed;
  kernel_random(seed.bytes.data(), seed.bytes.size());
  return seed;
}

uint64_t fresh_identifier() {
  uint64_t value = 0;
  while (value == 0) kernel_random(&value, sizeof value);
  return value;
}

}  // namespace psm
