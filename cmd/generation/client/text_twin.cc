#include "cmd/generation/client/text_twin.h"

#include <algorithm>
#include <cmath>

namespace psm::cmd {

TextTwin::TextTwin(const std::string& program, const TextModel& model)
    : model_(model), process_(program, model.file.program_id()) {
  if (model.file.weights.empty()) return;
  TwinRequest weights{.shares = true};
  for (const ClientWeight& weight : model.file.weights) {
    std::vector<std::complex<double>>& slots = weights.slots[weight.name];
    slots.resize(model.file.model.packing.slots);
    for (size_t s = 0; s < slots.size(); ++s) slots[s] = weight.period[s % weight.period.size()];
  }
  process_.run(weights);
}

TextTwin::Logits TextTwin::after(std::span<const int> tokens, bool predict) {
  return run(tokens, predict, false);
}

void TextTwin::check_ranges(std::span<const int> tokens) { run(tokens, false, true); }

TextTwin::Logits TextTwin::run(std::span<const int> tokens, bool predict, bool strict) {
  const bool goes_on = !seen_.empty() && tokens.size() == seen_.size() + 1 &&
                       std::equal(seen_.begin(), seen_.end(), tokens.begin());
  const size_t known = goes_on ? seen_.size() : 0;
  seen_.assign(tokens.begin(), tokens.end());
  if (!goes_on && model_.takes_prompts())
    return run(kPrompt, static_cast<int>(tokens.size()), tokens, predict, strict);
  Logits logits;
  for (size_t place = known; place < tokens.size(); ++place)
    logits = run(kToken, static_cast<int>(place), tokens.subspan(place, 1), predict, strict);
  return logits;
}

TextTwin::Logits TextTwin::run(const char* entry, int argument, std::span<const int> tokens, bool predict,
                               bool strict) {
  const std::vector<std::vector<int>> one{{tokens.begin(), tokens.end()}};
  const attention::ClientModel& model = model_.file.model;
  const TwinProcess::Outputs outputs = process_.run({.entry = entry,
                                                     .argument = argument,
                                                     .noisy = predict,
                                                     .strict = strict,
                                                     .slots = attention::client_inputs(model, one)});
  const auto last = [&](const attention::SlotVectors& slots) {
    const std::vector<double> rows = attention::client_logits(model, slots, one)[0];
    return std::vector<double>(rows.end() - model.shape.vocab, rows.end());
  };
  Logits logits{last(outputs.clear)};
  if (!predict) return logits;
  const std::vector<double> noisy = last(outputs.noisy);
  double squares = 0;
  for (size_t i = 0; i < noisy.size(); ++i) squares += std::pow(noisy[i] - logits.clear[i], 2);
  logits.predicted_std = std::sqrt(squares / static_cast<double>(noisy.size()));
  return logits;
}

}  // namespace psm::cmd
