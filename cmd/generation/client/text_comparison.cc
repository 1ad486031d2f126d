#include "cmd/generation/client/text_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "ckks/base/error.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/machines/twin.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/generation/model/generation_deployment.h"
#include "cmd/prompts/comparison.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// Two twins of a text, from run to run: one exact, one with the predicted errors.
class NoisyTwin {
 public:
  explicit NoisyTwin(const GenerationDeployment& deployment) : d_(deployment), noise_(*d_.context) {
    if (d_.weight_names.empty()) return;
    for (const nn::WeightInput& input :
         attention::build_decode_program(d_.model, d_.packing, attention::Weights::kEncrypted).weights)
      for (size_t slot = 0; slot < d_.packing.slots; ++slot)
        weights_[input.name].push_back(input.weight.at(slot));
  }

  // The deviation of one logit after these tokens, `place` the cache's place of the first. At place 0 a text
  // begins, at all others there is one token.
  double run(const std::vector<int>& tokens, int place) {
    if (place == 0) exact_.clear(), noisy_.clear();
    if (place == 0 && d_.takes_prompts())
      return run(d_.prompt, d_.prompt_constants(static_cast<int>(tokens.size())), tokens);
    if (place == 0)
      for (const std::string& name : d_.cache_names)
        exact_[name].resize(d_.packing.slots), noisy_[name].resize(d_.packing.slots);
    double deviation = 0;
    for (const int token : tokens) deviation = run(d_.token, d_.token_constants(place++), {token});
    return deviation;
  }

 private:
  double run(const program::Plan& plan, const program::Constants& constants, const std::vector<int>& tokens) {
    const program::Program program = program::with_constants(plan.program, constants);
    const std::vector<std::vector<int>> one{tokens};
    for (const auto& [name, slots] : attention::client_inputs(d_.model, d_.packing, one))
      exact_[name] = noisy_[name] = slots;
    exact_.insert(weights_.begin(), weights_.end());
    noisy_.insert(weights_.begin(), weights_.end());
    program::TwinOptions options{.on_range = program::TwinOptions::OnRange::kCount};
    program::TwinResult exact = program::run_twin(program, exact_, options);
    options.noise_std = program::predicted_noise(plan, noise_, d_.bootstrap_error_std, exact.observations);
    options.noise_seed = ++runs_;
    for (const auto& [name, value] : plan.program.inputs)  // a cache comes with its error
      if (std::find(d_.cache_names.begin(), d_.cache_names.end(), name) != d_.cache_names.end())
        options.noise_std[value.id] = 0;
    noisy_ = program::run_twin(program, noisy_, options).outputs;
    // What goes on repeats, its error too: no slot meets another repetition's.
    for (auto& [name, slots] : noisy_)
      for (size_t s = d_.packing.period(); s < slots.size(); ++s) slots[s] = slots[s % d_.packing.period()];
    exact_ = std::move(exact.outputs);
    const size_t last = (tokens.size() - 1) * static_cast<size_t>(d_.model.weights.config.vocab);
    const std::vector<double> z = attention::client_logits(d_.model, d_.packing, exact_, one)[0],
                              y = attention::client_logits(d_.model, d_.packing, noisy_, one)[0];
    double squares = 0;
    for (size_t i = last; i < z.size(); ++i) squares += (y[i] - z[i]) * (y[i] - z[i]);
    return std::sqrt(squares / static_cast<double>(z.size() - last));
  }

  const GenerationDeployment& d_;
  const ckks::NoiseModel noise_;
  attention::SlotVectors weights_, exact_, noisy_;
  uint64_t runs_ = 0;
};

}  // namespace

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
    if (p.predicted_std > 0 && p.clear()) ++clear, clear_same += p.same;
    table.row({std::to_string(p.position), p.same ? "yes" : "no", format("%.3g", p.margin),
               format("%.2g", p.kl), format("%.2g", p.max_abs),
               p.predicted_std > 0 ? format("%.2g", p.predicted_std) : "-"});
  }
  std::string out =
      table.text() + message("  same argmax as the clear model's at ", percent(top1()), " of ",
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
    if (p.predicted_std > 0) row["predicted_std"] = p.predicted_std, row["clear"] = p.clear();
    rows.push_back(std::move(row));
  }
  return json;
}

TextComparison compare_text(const GenerationDeployment& deployment, const std::vector<int>& tokens,
                            const std::vector<TextClient::Step>& steps, bool predict) {
  TextComparison out;
  const size_t vocab = static_cast<size_t>(deployment.model.weights.config.vocab);
  NoisyTwin twin(deployment);
  for (size_t begin = 0; begin < steps.size();) {  // steps that share a window share a pass
    const int window = steps[begin].window;
    size_t end = begin;
    while (end < steps.size() && steps[end].window == window) ++end;
    const std::span<const int> read(tokens.data() + window,
                                    static_cast<size_t>(steps[end - 1].position - window));
    const std::vector<double> logits = attention::polynomial_forward(deployment.model, read).logits;
    for (size_t i = begin; i < end; ++i) {
      const int place = steps[i].position - window - 1;  // of the token before it
      const auto clear = std::span(logits).subspan(static_cast<size_t>(place) * vocab, vocab);
      out.positions.push_back({compare_position(clear, steps[i].logits), steps[i].position});
      if (!predict) continue;
      // The twin begins where this run did, with all that came before it.
      out.positions.back().predicted_std = i == begin ? twin.run({read.begin(), read.begin() + place + 1}, 0)
                                                      : twin.run({read[static_cast<size_t>(place)]}, place);
    }
    begin = end;
  }
  return out;
}

std::vector<int> clear_continuation(const attention::PolynomialModel& model, std::vector<int> prompt,
                                    int count, const Sampler& sampler) {
  const size_t T = static_cast<size_t>(model.weights.config.context);
  const size_t vocab = static_cast<size_t>(model.weights.config.vocab);
  std::vector<int> text = prompt;
  size_t window = 0;
  for (int i = 0; i < count; ++i) {
    if (text.size() - window > T) window = text.size() - T / 2;
    const std::vector<double> logits =
        attention::polynomial_forward(model, std::span(text).subspan(window)).logits;
    text.push_back(sampler.pick(std::span(logits).last(vocab), static_cast<int>(text.size())));
  }
  return {text.begin() + static_cast<ptrdiff_t>(prompt.size()), text.end()};
}

}  // namespace psm::cmd
