#include "ckks/base/touched_memory.h"

#include <chrono>
#include <cstdint>

namespace psm {
namespace {

constexpr size_t kPageWords = (size_t{4} << 10) / sizeof(uint64_t);

}  // namespace

TouchedMemory::TouchedMemory(size_t bytes) : memory_(bytes / sizeof(uint64_t)) {
  thread_ = std::thread([this] {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    volatile uint64_t* const words = memory_.data();
    for (size_t at = 0; at < memory_.size(); at += kPageWords) words[at] = 0;
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  });
}

TouchedMemory::~TouchedMemory() {
  finish();
  buffer_pool::make_room(memory_.size() * sizeof(uint64_t));
}

double TouchedMemory::finish() {
  if (thread_.joinable()) thread_.join();
  return seconds_;
}

}  // namespace psm
