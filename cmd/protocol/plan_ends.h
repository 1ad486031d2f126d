// The two ends of a program's entry point: its input and output ciphertexts by name and level, in order. A
// client needs no more of a program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckks/scheme/chain/scale.h"
#include "cmd/protocol/names.h"

namespace psm::cmd {

constexpr size_t kMaxCiphertexts = 4096;  // of a request

struct PlanEnd {
  std::string name;
  ckks::Level level = 0;  // of the ciphertext, whose scale is the level's (Context::scale)
};

struct PlanEnds {
  uint64_t program_id = 0, parameters = 0;
  std::vector<PlanEnd> inputs, outputs;
};

inline std::vector<std::string> names_of(std::span<const PlanEnd> ends) {
  std::vector<std::string> names;
  for (const PlanEnd& end : ends) names.push_back(end.name);
  return names;
}

}  // namespace psm::cmd
