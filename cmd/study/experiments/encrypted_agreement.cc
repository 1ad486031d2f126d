#include "cmd/study/experiments/encrypted_agreement.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/random/training_random.h"
#include "ckks/program/machines/twin.h"
#include "cmd/deployment/client/session.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/prompts/comparison.h"
#include "cmd/protocol/ciphertext_note.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/terminal/common_flags.h"
#include "train/data/text_data.h"

namespace psm::cmd {
namespace {

using Prompts = std::vector<std::vector<int>>;

// Client and server of the deployment, once something is to be encrypted.
struct Parties {
  explicit Parties(const Deployment& deployment) : figures(deployment), session(deployment, figures) {}
  RunFigures figures;
  Session session;
};

Json json_of(const Comparison& c) {
  return Json::Array{c.max_abs, c.mse, c.kl, c.positions, c.agree, c.clear_positions, c.agree_clear};
}

Comparison comparison_from(const Json& json, const std::string& what) {
  const Json::Array& values = json.array(what);
  if (values.size() != 7) throw Error(message(what, ": a prompt has ", values.size(), " figures, not 7"));
  const auto count = [&](size_t i) { return static_cast<int>(values[i].integer(what, 0, INT32_MAX)); };
  Comparison c;
  c.max_abs = values[0].number(what), c.mse = values[1].number(what), c.kl = values[2].number(what);
  c.positions = count(3), c.agree = count(4), c.clear_positions = count(5), c.agree_clear = count(6);
  return c;
}

// One pass: a comparison for each prompt, null where it is refused.
Json pass_of(const Deployment& d, const PromptCodec& codec, const Prompts& prompts, double predicted_std,
             std::optional<Parties>& parties) {
  Json found = Json(Json::Array{});
  Prompts answerable;
  LogitRows clear;
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
  const LogitRows decrypted = parties->session.logits(answerable);
  ptrdiff_t at = 0;
  for (const auto& prompt : answerable) {
    const auto size = static_cast<ptrdiff_t>(prompt.size());
    const auto scored = [&](const LogitRows& rows) {
      return scored_rows(codec, {prompt}, LogitRows(rows.begin() + at, rows.begin() + at + size));
    };
    found.push_back(json_of(compare_logits(scored(clear), scored(decrypted), predicted_std)));
    at += size;
  }
  return found;
}

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
  Table samples({"sample", "positions", "MSE", "largest error", "same argmax", "mean KL"});
  Comparison all;
  PlotPoints largest;
  int refused = 0, answered = 0;
  for (size_t pass = 0; pass < groups.size(); ++pass) {
    const std::string part = message("pass ", pass + 1, " of ", groups[pass].size(), " by ", model);
    const Json found =
        context.once(part, [&] { return pass_of(deployment, codec, groups[pass], predicted_std, parties); });
    for (const Json& json : found.array(part)) {
      if (json.is_null()) {
        ++refused;
        continue;
      }
      const Comparison one = comparison_from(json, part);
      samples.row({std::to_string(++answered), std::to_string(one.positions), format("%.3g", one.mse),
                   format("%.3g", one.max_abs), percent(one.agreement_all()), format("%.3g", one.kl)});
      largest.emplace_back(answered, one.max_abs);
      all.max_abs = std::max(all.max_abs, one.max_abs);
      all.mse += one.mse * one.positions, all.kl += one.kl * one.positions;
      all.positions += one.positions, all.agree += one.agree;
      all.clear_positions += one.clear_positions, all.agree_clear += one.agree_clear;
    }
  }
  if (answered == 0) throw Error("every prompt leaves an interval of the model's polynomials");
  all.mse /= all.positions, all.kl /= all.positions;

  Table table({"", "here", "in the paper"});
  table.row({"prompts", std::to_string(answered), "100"});
  table.row({"MSE of the logits", format("%.3g", all.mse), "at most 0.005"});
  table.row({"largest error of a logit", format("%.3g", all.max_abs), ""});
  table.row({"predicted deviation of a logit", format("%.3g", predicted_std), ""});
  table.row({"same argmax", percent(all.agreement_all()), "99%"});
  table.row({"same argmax where the two largest are 4 predicted deviations apart",
             message(all.agree_clear, " of ", all.clear_positions), ""});
  table.row({"mean KL divergence", format("%.3g", all.kl), ""});
  table.row({"refused: a value leaves an interval", std::to_string(refused), ""});
  result.table(
      "encrypted answers beside the clear polynomial model's, both of " + deployment.context->describe(),
      table);
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
