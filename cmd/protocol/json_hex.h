// Numbers of 64 bits (fingerprints, what was drawn at random) as hexadecimal digits in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

// Throw Error if it is no sixteen digits, or the member is missing; `what` stands in the message.
inline uint64_t hex_number(const Json& json, const std::string& what) {
  const std::optional<uint64_t> number = number_from_hex(json.string(what));
  if (!number) throw Error(message(what, " must be sixteen hexadecimal digits"));
  return *number;
}
inline uint64_t hex_member(const Json& json, const char* name, const std::string& what) {
  return hex_number(json.at(name, what), what + ", " + name);
}

}  // namespace psm::cmd
