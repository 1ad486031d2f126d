// Compares a text that was generated encrypted with the program in the clear (text_twin.h), in two ways:
//
//   teacher-forced   the twin reads the encrypted run's text. Its logits for every picked token are compared with the
//                    decrypted ones (PositionComparison, cmd/prompts/comparison.h). The noise model predicts their
//                    deviation: the twin runs once exactly, and once with the predicted error of every instruction,
//                    which caches carry from run to run (ckks/program/errors/noise.h)
//   free-running     the twin continues the prompt by itself and picks tokens like the client
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_twin.h"
#include "cmd/prompts/comparison.h"

namespace psm::cmd {

struct TextComparison {
  struct Position : PositionComparison {
    int position = 0;
    double predicted_std = 0;  // of one logit
    // Whether the margin is more than 4 predicted deviations of a difference of two logits.
    bool clear() const;
  };
  std::vector<Position> positions;
  std::vector<int> free_running;  // tokens after the prompt

  double top1() const, kl_mean() const, max_abs() const;
  std::string text() const;  // a table by position, and their sums
  Json json() const;
};

// `steps` are those of one run, of the text `tokens`, whose first `prompt` tokens are the prompt. The
// free-running text has as many tokens.
TextComparison compare_text(TextTwin& twin, const TextModel& model, const std::vector<int>& tokens,
                            int prompt, const std::vector<TextClient::Step>& steps, const Sampler& sampler);

}  // namespace psm::cmd
