// --memory, and whether the machine has it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/memory.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {

// Parses "16GB", "700 MB", "1.5 TB" (powers of ten). Returns nullopt for anything else, and for sizes beyond 2^63 bytes.
inline std::optional<double> parse_bytes(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string unit(rest, end);
  if (unit.starts_with(' ')) unit.erase(0, 1);
  for (const auto& [name, factor] : {std::pair("MB", 1e6), {"GB", 1e9}, {"TB", 1e12}})
    if (unit == name && number * factor < 0x1p63) return number * factor;
  return std::nullopt;
}

// The most memory that a server may take. A run is refused if its least memory does not fit. The
// rest holds encoded plaintexts for further runs.
class MemoryFlag {
 public:
  explicit MemoryFlag(Flags& flags)
      : text_(
            flags.text("memory", "",
                       "how much memory to take, such as 16GB: what the process, keys and ciphertexts leave "
                       "keeps encoded weights for further runs")) {}
  // The bytes for encoded plaintexts, if a run without them adds `least` bytes to what this process holds. Without the
  // flag they are `usual`, or less if little is `available` to this process (0: not known, or plaintexts go to a
  // device). Throws Error if the flag is not a size, or too little.
  size_t left_for_plaintexts(double least, size_t usual, uint64_t available) const {
    // A quarter of the rest stays free: other programs change what they take.
    if (text_.empty())
      return available == 0 ? usual
                            : static_cast<size_t>(std::clamp(0.75 * (static_cast<double>(available) - least),
                                                             0.0, static_cast<double>(usual)));
    const std::optional<double> bytes = parse_bytes(text_);
    if (!bytes) throw Error(message("--memory ", text_, " is no size; give one such as 700MB or 16GB"));
    buffer_pool::trim();  // what it keeps, the run takes
    least += static_cast<double>(current_resident_bytes());
    if (*bytes < least)
      throw Error(message("--memory ", text_, " is too little: the process, keys and ciphertexts take ",
                          bytes_text(least)));
    return static_cast<size_t>(*bytes - least);
  }

 private:
  const std::string& text_;
};

// Whether so much can be taken, or the system does not tell.
inline bool fits_in_memory(size_t bytes) {
  const uint64_t available = available_memory_bytes();
  return available == 0 || bytes <= available;
}

// Throws Error if the memory does not suffice: "error: needs 11.2 GB of memory, 7.9 GB are available; ...". So many
// processes of this machine are about to take as much each.
inline void require_memory(size_t bytes, int processes = 1) {
  const size_t all = bytes * static_cast<size_t>(processes);
  if (fits_in_memory(all)) return;
  const std::string whose = processes == 1 ? "" : message(" for the ", processes, " ranks of this machine");
  throw Error(message("this needs about ", bytes_text(static_cast<double>(all)), " of memory", whose, ", ",
                      bytes_text(static_cast<double>(available_memory_bytes())),
                      " are available; close other programs or use a larger machine"));
}

}  // namespace psm::cmd
