// Memory for buffers (ckks/base/buffer.h) that is touched before it is wanted.
//
// The system clears a page when it is first written to, which at N = 2^16 takes as long as the arithmetic of
// a first pass. Whoever knows how much will be wanted constructs this before keys are made or read: a thread
// of its own touches the pages meanwhile. Destruction waits for it and hands them to the pool, which makes room for
// them.
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
