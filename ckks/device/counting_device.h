// CountingDevice: a device that computes nothing and logs every request. Launches, copies and memory of an
// engine do not depend on residues. So a program of any size has the same log and the same peak of memory as
// on a GPU, in little time.
//
// Results are undefined, and downloads change nothing. There is no memory behind the addresses.
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

// Keys of the sizes of a request, with undefined contents.
EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory);

}  // namespace psm::ckks
