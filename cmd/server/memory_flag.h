// --memory, and whether the machine has it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ckks/base/files/flags.h"

namespace psm::cmd {

// The most memory that a server may take. A run is refused if its least memory does not fit. The
// rest holds encoded plaintexts for further runs.
class MemoryFlag {
 public:
  explicit MemoryFlag(Flags& flags);
  // The bytes for encoded plaintexts, if a run takes `least` bytes without them; `usual` without the flag.
  // Throws Error if the flag is not a size, or less than `least`.
  size_t left_for_plaintexts(double least, size_t usual) const;

 private:
  const std::string& text_;
};

// Parses "16GB", "700 MB", "1.5 TB" (powers of ten). Returns nullopt for anything else.
std::optional<double> parse_bytes(const std::string& text);

// Throws Error if the memory does not suffice: "error: needs 11.2 GB of memory, 7.9 GB are available; ...".
void require_memory(size_t bytes);

}  // namespace psm::cmd
