// What a server says of itself when a conversation (frames.h) begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct Greeting {
  // The program's id, or that of encrypted weights; fingerprints.
  uint64_t program = 0, parameters = 0, keys = 0;
  uint64_t text = 0;  // that it keeps; 0: none
  int window = 0, next = 0;

  std::string line() const;
  static Greeting parse(const std::string& line, const std::string& what);  // throws Error for anything else
};

// The longest file that a frame of these ciphertexts can be.
uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends);

}  // namespace psm::cmd
