#include "cmd/generation/client/text_twin.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cmd/terminal/table.h"

namespace psm::cmd {

TextTwin::TextTwin(const std::string& program, const TextModel& model, int64_t threads)
    : model_(model), process_(program, model.file.program_id(), threads) {
  if (model.file.weights.empty()) return;
  TwinMessage weights{.shares = true};
  for (const ClientWeight& weight : model.file.weights) weights.slots[weight.name] = weight.period;
  process_.run(weights);
}

TextTwin::Logits TextTwin::after(std::span<const int> tokens, bool predict, bool strict) {
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
  const int first = std::string_view(entry) == kToken ? argument : 0;
  const TwinProcess::Outputs outputs = process_.run({.entry = entry,
                                                     .argument = argument,
                                                     .noisy = predict,
                                                     .strict = strict,
                                                     .slots = attention::client_inputs(model, one, first)});
  const auto last = [&](const attention::SlotVectors& slots) {
    const std::vector<double> rows = attention::client_logits(model, slots, one)[0];
    return std::vector<double>(rows.end() - model.shape.vocab, rows.end());
  };
  Logits logits{last(outputs.clear)};
  if (!predict) return logits;
  logits.predicted_std = rms_difference({last(outputs.noisy)}, {logits.clear});
  return logits;
}

std::string TextComparison::text() const {
  Table table({"position", "same argmax", "margin", "KL", "max |error|", "predicted std"});
  double variance = 0;  // the mean one
  for (const Position& p : positions) {
    table.row({std::to_string(p.position), p.same ? "yes" : "no", format("%.3g", p.margin),
               format("%.2g", p.kl), format("%.2g", p.max_abs), format("%.2g", p.predicted_std)});
    variance += p.predicted_std * p.predicted_std / static_cast<double>(positions.size());
  }
  return table.text() + all.text(std::sqrt(variance));
}

Json TextComparison::json() const {
  Json json = all.json();
  Json& rows = json["by_position"] = Json::Array();
  for (const Position& p : positions) {
    rows.push_back(Json::Object{{"position", p.position},
                                {"same", p.same},
                                {"margin", p.margin},
                                {"kl", p.kl},
                                {"max_abs", p.max_abs},
                                {"predicted_std", p.predicted_std},
                                {"clear", p.clear(p.predicted_std)}});
  }
  return json;
}

TextComparison compare_text(TextTwin& twin, const TextModel& model, const TextRecord& record,
                            const std::vector<TextClient::Step>& steps) {
  TextComparison out;
  for (const TextClient::Step& step : steps) {
    const std::span read(record.tokens.begin() + step.window, record.tokens.begin() + step.position);
    const TextTwin::Logits logits = twin.after(read, true);
    const PositionComparison at = compare_position(logits.clear, step.logits);
    out.positions.push_back({at, step.position, logits.predicted_std});
    out.all.add(at, logits.clear, logits.predicted_std);
  }
  std::vector<int> text(record.tokens.begin(), record.tokens.begin() + record.prompt);
  const auto T = static_cast<size_t>(model.tokens);
  size_t window = 0;
  while (text.size() < record.tokens.size()) {
    if (text.size() - window > T) window = text.size() - T / 2;
    const TextTwin::Logits logits = twin.after(std::span(text).subspan(window), false);
    text.push_back(record.sampler.pick(logits.clear, static_cast<int>(text.size())));
  }
  out.free_running = {text.begin() + record.prompt, text.end()};
  return out;
}

}  // namespace psm::cmd
