#include "cmd/study/experiments/encrypted_agreement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/progress.h"
#include "ckks/base/random/training_random.h"
#include "ckks/program/machines/twin.h"
#include "cmd/deployment/client/client.h"
#include "cmd/deployment/client/client_keys.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/prompts/comparison.h"
#include "cmd/protocol/ciphertext_note.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/run_figures.h"
#include "cmd/server/server.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/terminal/common_flags.h"
#include "train/data/text_data.h"

namespace psm::cmd {
namespace {

using Prompts = std::vector<std::vector<int>>;

// Client and server of the deployment, once something is to be encrypted.
class Parties {
 public:
  explicit Parties(const Deployment& deployment)
      : d_(deployment),
        figures_(deployment),
        keys_(make_client_keys(deployment, figures_)),
        encoder_(*deployment.context),
        encryptor_(*deployment.context, keys_.public_key),
        decryptor_(*keys_.secret, encoder_),
        server_(deployment, keys_.evaluation) {}

  attention::SlotVectors answer(const attention::SlotVectors& inputs) {
    const auto encrypted = encrypt_inputs(d_, encoder_, encryptor_, inputs);
    Progress progress("inferring on ciphertexts", static_cast<double>(d_.plan.program.instructions.size()));
    program::RunOptions options;
    options.progress = [&](size_t done, size_t) { progress.set(static_cast<double>(done)); };
    return decrypt_outputs(decryptor_, server_.run(encrypted, options).outputs);
  }

 private:
  const Deployment& d_;
  RunFigures figures_;
  ClientKeys keys_;
  ckks::Encoder encoder_;
  ckks::Encryptor encryptor_;
  ckks::Decryptor decryptor_;
  Server server_;
};

// One pass: for each prompt null where it is refused, or [[position, same, margin, kl, max_abs, mse, top5]
// ..]
Json pass_of(const Deployment& d, const PromptCodec& codec, const Prompts& prompts,
             std::optional<Parties>& parties) {
  Json found = Json(Json::Array{});
  Prompts answerable;
  LogitRows clear, decrypted;
  const attention::ClientModel client = attention::client_model_of(d.model, d.packing);
  for (const auto& prompt : prompts) {
    const Prompts alone{prompt};
    const attention::SlotVectors inputs = attention::client_inputs(client, alone);
    try {
      append_logits(client, program::run_twin(d.plan.program, inputs).outputs, alone, clear);
      answerable.push_back(prompt);
    } catch (const Error&) {
      found.push_back(Json());
    }
  }
  if (answerable.empty()) return found;
  if (!parties) {
    require_memory(d.server_bytes());
    parties.emplace(d);
  }
  append_logits(client, parties->answer(attention::client_inputs(client, answerable)), answerable, decrypted);
  size_t begin = 0;
  for (const auto& prompt : answerable) {
    Json rows = Json(Json::Array{});
    for (const int t : codec.scored_positions(static_cast<int>(prompt.size()))) {
      const size_t row = begin + static_cast<size_t>(t);
      const PositionComparison at = compare_position(clear[row], decrypted[row]);
      rows.push_back(Json::Array{t, at.same, at.margin, at.kl, at.max_abs, at.mse, at.top5});
    }
    found.push_back(std::move(rows));
    begin += prompt.size();
  }
  return found;
}

struct Positions {
  std::vector<int> position;
  std::vector<PositionComparison> at;
};

Positions positions_from(const Json& rows, const std::string& what) {
  Positions out;
  for (const Json& row : rows.array(what)) {
    const Json::Array& values = row.array(what);
    if (values.size() != 7) throw Error(message(what, ": a position has ", values.size(), " figures, not 7"));
    const auto number = [&](size_t i) { return values[i].number(what); };
    out.position.push_back(static_cast<int>(values[0].integer(what, 0, INT32_MAX)));
    out.at.push_back({.same = values[1].truth(what),
                      .margin = number(2),
                      .kl = number(3),
                      .max_abs = number(4),
                      .mse = number(5),
                      .top5 = static_cast<int>(values[6].integer(what, 0, 5))});
  }
  return out;
}

// By position, over the prompts.
struct Sums {
  double kl = 0, kl_most = 0, max_abs = 0;
  int count = 0;
};

}  // namespace

std::vector<std::vector<int>> agreement_prompts(const PromptCodec& codec,
                                                const attention::ModelConfig& config,
                                                const StudyContext& context, int count) {
  Prompts prompts;
  if (codec.is_recall()) {
    for (int i = 0; i < count; ++i) prompts.push_back(codec.sample(1, static_cast<uint64_t>(i) + 1).front());
    return prompts;
  }
  const auto data = train::TextData::from_files(context.training_text(), context.held_out_text(),
                                                {.context = config.context}, codec.tokenizer());
  const train::Batch windows = data.validation(kMaxSamples);
  if (windows.sequences < count)
    throw Error(message("the held-out text has ", windows.sequences, " prompts of ", config.context,
                        " tokens, not ", count));
  std::vector<int> order(static_cast<size_t>(windows.sequences));
  std::iota(order.begin(), order.end(), 0);
  TrainingRandom random(1);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next_u64() % i]);
  for (int i = 0; i < count; ++i) {
    const auto first = windows.tokens.begin() + ptrdiff_t{order[i]} * windows.length;
    prompts.emplace_back(first, first + windows.length);
  }
  return prompts;
}

void encrypted_agreement(const Deployment& deployment, const PromptCodec& codec, const Prompts& prompts,
                         StudyContext& context, StudyResult& result) {
  const std::string model = hex(&deployment.program_id, sizeof deployment.program_id);
  const double predicted_std =
      context
          .once("predicted deviation of " + model,
                [&] { return Json(run_twin_on(deployment, {prompts.front()}).predicted_std); })
          .number("predicted deviation");
  std::optional<Parties> parties;
  const auto groups = groups_of(prompts, deployment.packing.prompts);
  Table samples(
      {"sample", "positions", "MSE", "largest error", "same argmax", "of the five largest", "mean KL"});
  std::vector<Sums> by_position(static_cast<size_t>(deployment.model.weights.config.context));
  Comparison all;
  PlotPoints largest;
  double top5 = 0, kl = 0, values = 0;
  int refused = 0, answered = 0;
  for (size_t pass = 0; pass < groups.size(); ++pass) {
    const std::string part = message("pass ", pass + 1, " of ", groups[pass].size(), " by ", model);
    const Json found = context.once(part, [&] { return pass_of(deployment, codec, groups[pass], parties); });
    for (const Json& rows : found.array(part)) {
      if (rows.is_null()) {
        ++refused;
        continue;
      }
      const Positions positions = positions_from(rows, part);
      Comparison one;
      double one_kl = 0, one_top5 = 0;
      for (size_t i = 0; i < positions.at.size(); ++i) {
        const PositionComparison& at = positions.at[i];
        one.max_abs = std::max(one.max_abs, at.max_abs);
        one.mse += at.mse / static_cast<double>(positions.at.size());
        one.agree += at.same;
        const bool clear = at.margin > 4 * std::sqrt(2.0) * predicted_std;
        one.clear_positions += clear;
        one.agree_clear += clear && at.same;
        one_kl += at.kl;
        one_top5 += at.top5;
        Sums& sums = by_position.at(static_cast<size_t>(positions.position[i]));
        sums.kl += at.kl, sums.kl_most = std::max(sums.kl_most, at.kl);
        sums.max_abs = std::max(sums.max_abs, at.max_abs);
        ++sums.count;
      }
      one.positions = static_cast<int>(positions.at.size());
      const double kept = one_top5 / (std::min(5, deployment.model.weights.config.vocab) * one.positions);
      samples.row({std::to_string(++answered), std::to_string(one.positions), format("%.3g", one.mse),
                   format("%.3g", one.max_abs), percent(one.agreement_all()), percent(kept),
                   format("%.3g", one_kl / one.positions)});
      largest.emplace_back(answered, one.max_abs);
      all.max_abs = std::max(all.max_abs, one.max_abs);
      all.mse += one.mse * one.positions;
      all.positions += one.positions, all.agree += one.agree;
      all.clear_positions += one.clear_positions, all.agree_clear += one.agree_clear;
      kl += one_kl, top5 += kept * one.positions, values += one.positions;
    }
  }
  if (values == 0) throw Error("every prompt leaves an interval of the model's polynomials");
  all.mse /= values;

  Table table({"", "here", "in the paper"});
  table.row({"prompts", std::to_string(answered), "100"});
  table.row({"MSE of the logits", format("%.3g", all.mse), "at most 0.005"});
  table.row({"largest error of a logit", format("%.3g", all.max_abs), ""});
  table.row({"predicted deviation of a logit", format("%.3g", predicted_std), ""});
  table.row({"same argmax", percent(all.agreement_all()), "99%"});
  table.row({"same argmax where the two largest are 4 predicted deviations apart",
             message(all.agree_clear, " of ", all.clear_positions), ""});
  table.row({"of the five largest", percent(top5 / values), ""});
  table.row({"mean KL divergence", format("%.3g", kl / values), ""});
  table.row({"refused: a value leaves an interval", std::to_string(refused), ""});
  result.table(
      "encrypted answers beside the clear polynomial model's, both of " + deployment.context->describe(),
      table);

  SvgPanel divergence;
  divergence.title = "KL divergence by position";
  divergence.x_label = "position";
  divergence.y_label = "nats";
  divergence.y_log = true;
  PlotPoints mean, most;
  for (size_t t = 0; t < by_position.size(); ++t) {
    const Sums& sums = by_position[t];
    if (sums.count == 0 || !(sums.kl > 0)) continue;
    mean.emplace_back(static_cast<double>(t), sums.kl / sums.count);
    most.emplace_back(static_cast<double>(t), sums.kl_most);
  }
  divergence.line("mean", mean);
  divergence.line("largest", most);
  result.plot(divergence);
  SvgPanel errors;
  errors.title = "largest error of a logit";
  errors.x_label = "sample";
  errors.y_label = "largest error";
  errors.y_log = true;
  errors.line("largest error", largest);
  errors.level("predicted deviation", predicted_std);
  result.plot(errors);
  result.table("by sample", samples);
}

namespace {

void run(StudyContext& context, StudyResult& result) {
  const attention::Checkpoint checkpoint = attention::load_checkpoint(context.options().model);
  const PromptCodec codec(checkpoint.weights.config, checkpoint.notes);
  if (codec.is_classifier())
    throw Error(message(context.options().model, " is a classifier; language models are compared"));
  const Deployment deployment(checkpoint, ckks::secure_n16());
  encrypted_agreement(
      deployment, codec,
      agreement_prompts(codec, deployment.model.weights.config, context, context.options().samples), context,
      result);
}

}  // namespace

Experiment encrypted_agreement_experiment() {
  return {.name = "encrypted-agreement",
          .title = "Answers under encryption beside the clear polynomial model's",
          .scaled_down =
              "The model is the one of --model, by default a small one of the recall task instead of Pythia "
              "70M; the ring, the parameters and the number of prompts are the paper's or larger.",
          .budget =
              "--samples passes: a minute each for Pythia 70M's shape, or seconds for several of the "
              "recall task",
          .run = run};
}

}  // namespace psm::cmd
