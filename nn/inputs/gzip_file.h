// Files that may be gzip's: read through the system's `gzip -dc`, which every Debian has, so that the
// project needs no library for it.
//
// Whether a file is compressed is decided by its first two bytes (1f 8b, RFC 1952), not by its name. gzip is
// started without a shell, the path is one argument, its input and messages are /dev/null. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace psm::nn {

// The content of the file, decompressed if need be. Throws psm::Error that names the path if it cannot be
// read, if it holds more than `max_bytes`, if there is no gzip, or if gzip refuses it: a file that is cut
// off, for instance.
std::string read_maybe_gzip(const std::string& path, uint64_t max_bytes);

}  // namespace psm::nn
