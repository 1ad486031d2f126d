// Checksums. They find accidents (a flipped bit, a truncated file); they do not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm {

// CRC-64 with the polynomial of ECMA-182, reflected (as in XZ): every burst of up to 64 bits is found. `seed`
// is the checksum of what stands before, so pieces can be summed one after another.
uint64_t checksum64(const void* data, size_t bytes, uint64_t seed = 0);

// The same, bit by bit instead of by a table. No branch and no address depends on the data, so they may be secret.
uint64_t checksum64_of_secret(const void* data, size_t bytes, uint64_t seed = 0);

}  // namespace psm
