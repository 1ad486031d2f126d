// A text that was generated encrypted beside the clear polynomial model, in two ways:
//
//   teacher-forced   the clear model reads the encrypted run's text: for every token that was picked, its logits
//                    beside the decrypted ones (PositionComparison, cmd/prompts/comparison.h), with the
//                    deviation of a decrypted one that the noise model predicts, where it was asked for: the
//                    twin of prompt and tokens, once exactly and once with the predicted error of every
//                    instruction, the caches carrying theirs from run to run (ckks/program/errors/noise.h)
//   free-running     the clear model goes on with the prompt by itself, picking as the client does
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/prompts/comparison.h"

namespace psm::cmd {

struct TextComparison {
  struct Position : PositionComparison {
    int position = 0;
    double predicted_std = 0;  // of one logit; 0: not predicted
    // Whether the margin is more than 4 predicted deviations of a difference of two logits.
    bool clear() const;
  };
  std::vector<Position> positions;
  std::vector<int> free_running;  // tokens after the prompt; empty if it was not asked for

  double top1() const, kl_mean() const, max_abs() const;
  std::string text() const;  // a table by position, and their sums
  Json json() const;
};

// `steps`: those of one run, of the text `tokens`. `predict` runs twins, some seconds a token.
TextComparison compare_text(const GenerationDeployment& deployment, const std::vector<int>& tokens,
                            const std::vector<TextClient::Step>& steps, bool predict);

// `count` tokens after the prompt, in windows as TextClient has them.
std::vector<int> clear_continuation(const attention::PolynomialModel& model, std::vector<int> prompt,
                                    int count, const Sampler& sampler);

}  // namespace psm::cmd
