#include "cmd/generation/client/text_comparison.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
bool TextComparison::Position::clear() const { return margin > 4 * std::sqrt(2.0) * predicted_std; }

double TextComparison::top1() const {
  const auto same =
      std::count_if(positions.begin(), positions.end(), [](const Position& p) { return p.same; });
  return positions.empty() ? 0 : static_cast<double>(same) / static_cast<double>(positions.size());
}

double TextComparison::kl_mean() const {
  double sum = 0;
  for (const Position& p : positions) sum += p.kl;
  return positions.empty() ? 0 : sum / static_cast<double>(positions.size());
}

double TextComparison::max_abs() const {
  double worst = 0;
  for (const Position& p : positions) worst = std::max(worst, p.max_abs);
  return worst;
}

std::string TextComparison::text() const {
  Table table({"position", "same argmax", "margin", "KL", "max |error|", "predicted std"});
  int clear = 0, clear_same = 0;
  for (const Position& p : positions) {
    if (p.clear()) ++clear, clear_same += p.same;
    table.row({std::to_string(p.position), p.same ? "yes" : "no", format("%.3g", p.margin),
               format("%.2g", p.kl), format("%.2g", p.max_abs), format("%.2g", p.predicted_std)});
  }
  std::string out =
      table.text() + message("  same argmax as the clear program's at ", percent(top1()), " of ",
                             positions.size(), " positions, mean KL ", format("%.2g", kl_mean()),
                             ", max |error| ", format("%.2g", max_abs()), "\n");
  if (clear > 0)
    out += message("  where its two best logits are 4 predicted deviations apart: ", clear_same, " of ",
                   clear, "\n");
  return out;
}

Json TextComparison::json() const {
  Json json;
  json["top1"] = top1();
  json["kl_mean"] = kl_mean();
  json["max_abs"] = max_abs();
  json["positions"] = static_cast<int64_t>(positions.size());
  Json& rows = json["by_position"] = Json::Array();
  for (const Position& p : positions) {
    Json row;
    row["position"] = p.position;
    row["same"] = p.same;
    row["margin"] = p.margin;
    row["kl"] = p.kl;
    row["max_abs"] = p.max_abs;
    row["predicted_std"] = p.predicted_std;
    row["clear"] = p.clear();
    rows.push_back(std::move(row));
  }
  return json;
}

TextComparison compare_text(TextTwin& twin, const TextModel& model, const std::vector<int>& tokens,
                            int prompt, const std::vector<TextClient::Step>& steps, const Sampler& sampler) {
  TextComparison out;
  for (const TextClient::Step& step : steps) {
    const auto read = std::span(tokens).subspan(static_cast<size_t>(step.window),
                                                static_cast<size_t>(step.position - step.window));
    const TextTwin::Logits logits = twin.after(read, true);
    out.positions.push_back(
        {compare_position(logits.clear, step.logits), step.position, logits.predicted_std});
  }
  std::vector<int> text(tokens.begin(), tokens.begin() + prompt);
  const auto T = static_cast<size_t>(model.tokens);
  size_t window = 0;
  while (text.size() < tokens.size()) {
    if (text.size() - window > T) window = text.size() - T / 2;
    const TextTwin::Logits logits = twin.after(std::span(text).subspan(window), false);
    text.push_back(sampler.pick(logits.clear, static_cast<int>(text.size())));
  }
  out.free_running = {text.begin() + prompt, text.end()};
  return out;
}

}  // namespace psm::cmd
