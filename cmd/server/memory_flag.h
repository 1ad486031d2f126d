// --memory: how much memory a server may take. What a run cannot do without is refused if it does not fit; of the rest,
// encoded plaintexts are kept for further runs.
#pragma once

#include <optional>
#include <string>

#include "ckks/base/files/flags.h"

namespace psm::cmd {

class MemoryFlag {
 public:
  explicit MemoryFlag(Flags& flags);
  // Bytes for encoded plaintexts where a run takes `least` bytes without them; `usual` without the flag. Throws Error if
  // the flag is no size, or less than that.
  size_t left_for_plaintexts(double least, size_t usual) const;

 private:
  const std::string& text_;
};

// "16GB", "700 MB", "1.5 TB" (powers of ten); nothing for anything else.
std::optional<double> parse_bytes(const std::string& text);

}  // namespace psm::cmd
