// Memory for buffers (ckks/base/buffer.h) that is touched before it is needed.
//
// The system clears a page when it is first written to. At N = 2^16 that takes as long as the arithmetic of a first
// pass. A caller who knows how much memory will be needed constructs this before keys are made or read. A thread of its
// own then touches the pages meanwhile. The destructor waits for it and hands the pages to the pool. Where the system has
// no further thread, finish() touches them, and without it nobody does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>

#include "ckks/base/buffer.h"
#include "ckks/base/clock.h"

namespace psm {

class TouchedMemory {
 public:
  explicit TouchedMemory(size_t bytes)
      : memory_(bytes / sizeof(uint64_t)),
        // Deferred where the system has no further thread.
        seconds_(std::async(std::launch::async | std::launch::deferred, [this] { return touch(); })) {}
  ~TouchedMemory() { buffer_pool::make_room(memory_.size() * sizeof(uint64_t)); }

  double finish() { return seconds_.get(); }  // once: waits for the touching; the seconds that it took

 private:
  double touch() {
    if (memory_.empty()) return 0;
    constexpr size_t kPageWords = (size_t{4} << 10) / sizeof(uint64_t);
    const double start = seconds_now();
    volatile uint64_t* const words = memory_.data();
    for (size_t at = 0; at < memory_.size(); at += kPageWords) words[at] = 0;
    return seconds_now() - start;
  }

  Buffer memory_;  // one range, which then serves any sizes
  std::future<double> seconds_;
};

}  // namespace psm
