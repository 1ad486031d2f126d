// The instructions that a function executes, as the processor runs them. For tests that compiled code has no
// branch that depends on a secret.
//
// A child process runs the function step by step (ptrace(2)). Children of one process begin with the same
// memory. So two traces differ only if different data decided a branch. Addresses of data are not seen.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace psm {

struct InstructionTrace {
  uint64_t steps = 0;
  uint64_t checksum = 0;  // of all instruction addresses, in order
  bool operator==(const InstructionTrace&) const = default;
};

// Returns nullopt if the system forbids tracing, or under the address sanitiser, whose allocator reads the clock.
std::optional<InstructionTrace> trace_instructions(const std::function<void()>& function);

}  // namespace psm
