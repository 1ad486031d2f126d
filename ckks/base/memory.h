// Memory of this process and this machine, in bytes (0 where the system does not tell), and memory that is touched early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include "ckks/base/buffer.h"

namespace psm {

uint64_t peak_resident_bytes();  // of this process so far
uint64_t current_resident_bytes();
// What could still be taken without swapping, within the limits of the container and of this process.
uint64_t available_memory_bytes();
// What the control group (version 2) of this folder could still take: its limit less its use. Pages of files
// do not count as used, because the kernel drops them when memory is wanted. UINT64_MAX without a limit.
uint64_t control_group_available_bytes(const char* folder);

// Memory for buffers (ckks/base/buffer.h) that is touched before it is needed.
//
// The system clears a page when it is first written to. At N = 2^16 that takes as long as the arithmetic of a first
// pass. A caller who knows how much memory will be needed constructs this before keys are made or read. A thread of its
// own then touches the pages meanwhile. The destructor waits for it and hands the pages to the pool.
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
