#include "cmd/deployment/client/sharing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/base/error.h"
#include "ckks/program/errors/worst_case.h"

namespace psm::cmd {

std::map<std::string, double> input_sizes(const Deployment& deployment) {
  const attention::ModelConfig& config = deployment.model.weights.config;
  if (config.positions == attention::PositionKind::kLearned || !config.causal)
    throw Error(message("not safe to share: the bound of the inputs is that of single tokens, but ",
                        config.causal ? "positions is learned" : "causal is false"));
  const int prompts = deployment.packing.prompts;
  std::map<std::string, double> sizes;
  for (int token = 0; token < config.vocab;) {
    std::vector<std::vector<int>> group;
    while (static_cast<int>(group.size()) < prompts && token < config.vocab) {
      std::vector<int>& prompt = group.emplace_back();
      while (static_cast<int>(prompt.size()) < config.context && token < config.vocab)
        prompt.push_back(token++);
    }
    for (const auto& [name, slots] : attention::client_inputs(deployment.model, deployment.packing, group)) {
      double& size = sizes[name];
      for (const std::complex<double>& value : slots) {
        size = std::max({size, std::numbers::sqrt2 * std::abs(value.real()),
                         std::numbers::sqrt2 * std::abs(value.imag())});
      }
    }
  }
  return sizes;
}

std::vector<OutputFlooding> plan_sharing(const Deployment& deployment, const ckks::SharingTerms& terms) {
  const program::Plan& plan = deployment.plan;
  const std::vector<ckks::SlotBound> bounds = program::worst_case_errors(
      plan, ckks::WorstCaseModel(*deployment.context), deployment.bootstrap.get(), input_sizes(deployment));
  std::vector<OutputFlooding> floodings;
  for (const program::NamedValue& output : plan.program.outputs) {
    const auto id = static_cast<size_t>(output.value.id);
    const ckks::Level level = plan.level[id];
    floodings.push_back(
        {output.name, ckks::plan_flooding(*deployment.context, level, deployment.context->scale(level),
                                          bounds[id].size, bounds[id].error, terms)});
  }
  return floodings;
}

std::vector<std::vector<std::complex<double>>> share(const ckks::SharingDecryptor& decryptor,
                                                     SharingRecord& record, uint64_t limit,
                                                     std::span<const std::string> names,
                                                     std::span<const ckks::Ciphertext> answers,
                                                     std::span<const OutputFlooding> floodings) {
  const bool known =
      std::equal(names.begin(), names.end(), floodings.begin(), floodings.end(),
                 [](const std::string& name, const OutputFlooding& f) { return name == f.output; });
  if (!known || names.empty() || answers.size() % names.size() != 0) {
    throw Error(
        "the answers are not the outputs that sharing was planned for, name by name; run //cmd:infer on this "
        "model");
  }
  record.spend(answers.size(), limit);
  std::vector<std::vector<std::complex<double>>> out;
  for (size_t i = 0; i < answers.size(); ++i) {
    out.push_back(decryptor.decrypt(answers[i], floodings[i % floodings.size()].flooding));
  }
  return out;
}

}  // namespace psm::cmd
