// The two ends of a program's entry point: its input and output ciphertexts by name and level, in order. A
// client needs no more of a program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::cmd {

// Names that programs and their users agree on: of entry points, and of inputs that are encrypted weights.
constexpr const char* kPass = "pass";  // a whole pass
// The pass over the first tokens of a text, and one further token (cmd/generation/text_ends.h).
constexpr const char* kPrompt = "prompt";
constexpr const char* kToken = "token";
constexpr const char* kWeightPrefix = "weight: ";

constexpr size_t kMaxCiphertexts = 4096;      // of a request
constexpr size_t kMaxWeights = 1 << 16;       // encrypted ones
constexpr size_t kMaxNames = (1 << 20) - 64;  // bytes of their names, which stand in a file's note

struct PlanEnd {
  std::string name;
  ckks::Level level = 0;  // of the ciphertext, whose scale is the level's (Context::scale)
  bool operator==(const PlanEnd&) const = default;
};

struct PlanEnds {
  uint64_t program_id = 0;
  std::vector<PlanEnd> inputs, outputs;
};

inline std::vector<std::string> names_of(std::span<const PlanEnd> ends) {
  std::vector<std::string> names;
  for (const PlanEnd& end : ends) names.push_back(end.name);
  return names;
}

// Throws Error if no file can hold these ciphertexts.
inline void require_sendable(std::span<const PlanEnd> ends) {
  size_t sent = 0, names = 0;
  for (const PlanEnd& end : ends)
    sent += !end.name.starts_with(kWeightPrefix), names += sizeof(uint32_t) + end.name.size();
  if (sent > kMaxCiphertexts || ends.size() - sent > kMaxWeights || names > kMaxNames)
    throw Error(message("an entry point takes or makes ", sent, " ciphertexts and ", ends.size() - sent,
                        " encrypted weights with ", names, " bytes of names; ", kMaxCiphertexts, ", ",
                        kMaxWeights, " and ", kMaxNames, " are possible"));
}

// The names of a key pair's files in its folder.
struct KeyFiles {
  explicit KeyFiles(const std::string& folder)
      : secret(folder + "/secret.key"),
        public_key(folder + "/public.key"),
        evaluation(folder + "/evaluation.keys"),
        weights(folder + "/weights.ct"),
        weights_owner(folder + "/weights.owner"),
        folder_(folder) {}
  std::string secret, public_key, evaluation;
  std::string weights, weights_owner;  // a model's, encrypted (weight_encryption.h)
  // The client's record of the prompts of one request (prompt_record.h).
  std::string prompts(uint64_t request) const { return folder_ + "/prompts-" + hex(request) + ".record"; }

 private:
  std::string folder_;
};

}  // namespace psm::cmd
