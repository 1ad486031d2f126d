// The program of a text in the clear (cmd/client/twin_process.h), with the same inputs as a server: a prompt,
// then token by token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/client/twin_process.h"
#include "cmd/generation/client/text_model.h"

namespace psm::cmd {

class TextTwin {
 public:
  // Throws Error if the program is not the client file's. The model must outlive the object.
  TextTwin(const std::string& program, const TextModel& model);

  struct Logits {
    std::vector<double> clear;  // after the last token
    double predicted_std = 0;   // of one logit of an encrypted run; 0: not predicted
  };
  // The twin continues if these are the tokens that it had and one more; otherwise it begins anew.
  Logits after(std::span<const int> tokens, bool predict);
  // Throws Error that names operation and layer if one of the tokens leaves an interval.
  void check_ranges(std::span<const int> tokens);

 private:
  Logits run(std::span<const int> tokens, bool predict, bool strict);
  Logits run(const char* entry, int argument, std::span<const int> tokens, bool predict, bool strict);

  const TextModel& model_;
  TwinProcess process_;
  std::vector<int> seen_;
};

}  // namespace psm::cmd
