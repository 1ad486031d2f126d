// Memory for buffers (ckks/base/buffer.h) that is touched before it is needed.
//
// The system clears a page when it is first written to. At N = 2^16 that takes as long as the arithmetic of a first
// pass. A caller who knows how much memory will be needed constructs this before keys are made or read. A thread of its
// own then touches the pages meanwhile. The destructor waits for it and hands the pages to the pool.
#pragma once

#include <cstddef>
#include <thread>

#include "ckks/base/buffer.h"

namespace psm {

class TouchedMemory {
 public:
  explicit TouchedMemory(size_t bytes);
  TouchedMemory(const TouchedMemory&) = delete;
  TouchedMemory& operator=(const TouchedMemory&) = delete;
  ~TouchedMemory();

  double finish();  // waits for the thread; the seconds that it took

 private:
  Buffer memory_;  // one range, which then serves any sizes
  double seconds_ = 0;
  std::thread thread_;
};

}  // namespace psm
