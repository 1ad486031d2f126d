// Numbers of 64 bits (fingerprints, what was drawn at random) as hexadecimal digits in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

// Throws Error if the member is missing or no sixteen digits; `what` stands in the message.
inline uint64_t hex_member(const Json& json, const char* name, const std::string& what) {
  const std::optional<uint64_t> number = number_from_hex(json.at(name, what).string(what + ", " + name));
  if (!number) throw Error(message(what, ", ", name, " must be sixteen hexadecimal digits"));
  return *number;
}

}  // namespace psm::cmd
