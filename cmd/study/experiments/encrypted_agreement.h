// How far answers under encryption are from the clear polynomial model's, over many prompts: the paper's
// comparison of 100 samples (MSE of the logits, same argmax), with the largest errors and what was predicted.
//
// Prompts that share ciphertexts are one pass, and a pass is one part of the study: a run that was killed
// goes on after the last finished pass, with new keys. What is kept is figures, never logits or keys. A
// prompt that leaves the interval of a polynomial is not encrypted, as //cmd:encrypt refuses it, and counted.
#pragma once

#include <vector>

#include "cmd/deployment/deployment.h"
#include "cmd/prompts/prompts.h"
#include "cmd/study/report/context.h"
#include "cmd/study/report/result.h"

namespace psm::cmd {

inline constexpr int kMaxSamples = 500;

// Whose i-th prompt does not depend on `count`: recall prompts by streams, or windows of the held-out novels,
// as long as the model's context, in an order of their own. Throws Error if the data folder lacks them.
std::vector<std::vector<int>> agreement_prompts(const PromptCodec& codec,
                                                const attention::ModelConfig& config,
                                                const StudyContext& context, int count);

// Both parties in this process.
void encrypted_agreement(const Deployment& deployment, const PromptCodec& codec,
                         const std::vector<std::vector<int>>& prompts, StudyContext& context,
                         StudyResult& result);

}  // namespace psm::cmd
