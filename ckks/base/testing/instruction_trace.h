// The instructions that a function executes, one after another, as the processor runs them: for tests that
// what is computed on secrets has no branch that depends on them, in what the compiler made of it.
//
// A child process runs the function step by step (ptrace(2)). Children of one process begin with the same
// memory, so two traces differ only if what the function computed on differed, and decided a branch.
// Addresses of data are not seen.
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

// Nothing if the system forbids to trace a child, or under the address sanitiser, whose allocator reads the
// clock.
std::optional<InstructionTrace> trace_instructions(const std::function<void()>& function);

}  // namespace psm
