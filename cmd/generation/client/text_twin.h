// The program of a text in the clear (cmd/client/twin_process.h), fed as a server is: a prompt, then token by token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/client/twin_process.h"
#include "cmd/generation/client/text_model.h"

namespace psm::cmd {

class TextTwin {
 public:
  // Throws Error where the program is another than the client file's. The model outlives the object.
  TextTwin(const std::string& program, const TextModel& model);

  struct Logits {
    std::vector<double> clear;  // after the last token
    double predicted_std = 0;   // of one logit of an encrypted run; 0: not predicted
  };
  // The twin goes on from the tokens that it had, if these are the same and one more, and begins anew otherwise.
  Logits after(std::span<const int> tokens, bool predict);
  // Throws Error that names the operation and the layer where one of the tokens leaves an interval.
  void check_ranges(std::span<const int> tokens);

 private:
  Logits run(std::span<const int> tokens, bool predict, bool strict);
  Logits run(const char* entry, int argument, std::span<const int> tokens, bool predict, bool strict);

  const TextModel& model_;
  TwinProcess process_;
  std::vector<int> seen_;
};

}  // namespace psm::cmd
