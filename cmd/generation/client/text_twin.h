// The program of a text in the clear (cmd/client/twin_process.h), with the same inputs as a server: a prompt,
// then token by token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/client/twin_process.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/prompts/comparison.h"

namespace psm::cmd {

class TextTwin {
 public:
  // Threads as --threads has them. Throws Error if the program is not the client file's. The model must outlive the
  // object.
  TextTwin(const std::string& program, const TextModel& model, int64_t threads = 0);

  struct Logits {
    std::vector<double> clear;  // after the last token
    double predicted_std = 0;   // of one logit of an encrypted run; 0: not predicted
  };
  // The twin continues if these are the tokens that it had and one more; otherwise it begins anew. `strict`: throws
  // Error that names operation and layer if one of the tokens leaves an interval.
  Logits after(std::span<const int> tokens, bool predict, bool strict = false);

 private:
  Logits run(const char* entry, int argument, std::span<const int> tokens, bool predict, bool strict);

  const TextModel& model_;
  TwinProcess process_;
  std::vector<int> seen_;
};

// A text that was generated encrypted compared with the program in the clear, in two ways:
//
//   teacher-forced   the twin reads the encrypted run's text. Its logits for every picked token are compared with the
//                    decrypted ones (PositionComparison, cmd/prompts/comparison.h). The noise model predicts their
//                    deviation: the twin runs once exactly, and once with the predicted error of every instruction,
//                    which caches carry from run to run (ckks/program/errors/noise.h)
//   free-running     the twin continues the prompt by itself and picks tokens like the client
struct TextComparison {
  struct Position : PositionComparison {
    int position = 0;
    double predicted_std = 0;  // of one logit
  };
  std::vector<Position> positions;
  Comparison all;                 // of these
  std::vector<int> free_running;  // tokens after the prompt

  std::string text() const;  // a table by position, and their sums
  Json json() const;
};

// `steps` are those of one run, of the text of `record`. The free-running text has as many tokens.
TextComparison compare_text(TextTwin& twin, const TextModel& model, const TextRecord& record,
                            const std::vector<TextClient::Step>& steps);

}  // namespace psm::cmd
