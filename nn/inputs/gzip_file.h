// Files that may be compressed with gzip. They are read through the system's `gzip -dc`, which every Debian
// has, so no library is needed.
//
// The first two bytes decide whether a file is compressed (1f 8b, RFC 1952), not its name. gzip starts
// without a shell, the path is one argument, and its input and messages are /dev/null. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace psm::nn {

// The content of the file, decompressed if need be. Throws psm::Error that names the path if the file cannot be read,
// has more than `max_bytes`, if there is no gzip, or if gzip refuses the file, for instance because it is cut off.
std::string read_maybe_gzip(const std::string& path, uint64_t max_bytes);

}  // namespace psm::nn
