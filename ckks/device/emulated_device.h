// EmulatedDevice: block programs on the processor, for tests and counts. It runs every block phase by phase
// and thread after thread, in an order that the tests choose. A result that depends on the order of threads,
// as with a missing barrier, differs between two orders.
//
// It also finds three other mistakes. The host reads or writes device memory: with `guarded`, its pages are
// open only during launches and copies, and the process stops at the access. A program writes beyond a block
// of memory: marks after each block are checked when it comes back. A program reads memory or shared words
// that were not written: both are first filled with a pattern that is not a residue.
//
// A device that does not compute logs every request and does nothing else. Launches, copies and memory of an
// engine do not depend on residues. So a program of any size has the same log and the same peak of memory as
// on a GPU, in little time. Results are undefined, and downloads change nothing.
#pragma once

#include "ckks/device/device.h"

namespace psm::ckks {

enum class ThreadOrder { kForward, kReversed, kShuffled };

struct EmulationOptions {
  ThreadOrder order = ThreadOrder::kForward;
  bool guarded = true;                    // costs system calls that grow with the memory in use
  size_t arena_bytes = size_t{64} << 30;  // of addresses; what nobody touches takes no memory
  bool computes = true;                   // false: there is no memory behind the addresses
};
inline constexpr EmulationOptions kCountsOnly{.arena_bytes = size_t{1} << 40, .computes = false};

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(const EmulationOptions& options = {});
  ~EmulatedDevice() override;

 private:
  void run(size_t program, const void* fields, uint32_t blocks, uint32_t threads) override;
  void copy_words(uint64_t* to, const uint64_t* from, size_t words) override;
  void taken(uint64_t* data, size_t words) override;
  void given_back(uint64_t* data, size_t words) noexcept override;

  // Opens the pages of the memory that was ever handed out, while it lives.
  class Access;

  EmulationOptions options_;
  uint8_t* mapping_;
  uint8_t* begin_;
  size_t used_ = 0;  // bytes from begin_ that were ever handed out, in whole huge pages
};

}  // namespace psm::ckks
