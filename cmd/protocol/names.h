// Names that programs and their users agree on: of entry points, and of inputs that are encrypted weights.
#pragma once

namespace psm::cmd {

constexpr const char* kPass = "pass";  // a whole pass
// The pass over the first tokens of a text, and one further token (cmd/generation/text_ends.h).
constexpr const char* kPrompt = "prompt";
constexpr const char* kToken = "token";
constexpr const char* kWeightPrefix = "weight: ";

}  // namespace psm::cmd
