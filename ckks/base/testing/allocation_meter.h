// Counts what a test allocates: linking this library replaces the global operators new and delete. The
// buffers of ckks/base/buffer.h, which come from the system directly, are counted too.
#pragma once

#include <cstddef>

namespace psm {

// The most memory in use at once after construction, less what was in use at construction.
class AllocationMeter {
 public:
  AllocationMeter();
  size_t peak_bytes() const;

 private:
  size_t heap_, buffers_;
};

}  // namespace psm
