// CountingDevice: a device that computes nothing and remembers everything it was asked for. What an engine
// launches, copies and keeps in memory depends on no residue, so a program of any size leaves the log, and the
// peak of memory, that it would leave on a GPU, in the time of its own schedule.
//
// Results are undefined, and downloads leave what the host had. Nothing stands behind the addresses.
#pragma once

#include "ckks/device/device.h"
#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

class CountingDevice final : public Device {
 public:
  explicit CountingDevice(size_t arena_bytes = size_t{1} << 40);
  ~CountingDevice() override;

 private:
  void run(size_t, const void*, uint32_t, uint32_t) override {}
  void copy_words(uint64_t*, const uint64_t*, size_t) override {}

  void* mapping_;
};

// Keys as large as those that a request asks for, made of whatever the memory holds.
EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory);

}  // namespace psm::ckks
