#include "cmd/study/trainings/classifier_study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "attention/batched/measure.h"
#include "attention/reference/polynomial_model.h"
#include "cmd/timing/train_suite.h"
#include "cmd/training/training_run.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kHeldOut = 1000, kRangeExamples = 2000;
constexpr double kRangeShare = 0.5;  // steps of range minimisation for each one before
// Margin of the intervals (attention/reference/polynomial_model.h): a score that is a quarter larger than any
// in training has a denominator 1.25^4 = 2.4 times as large, and one image in a thousand has such a one.
constexpr double kMargin = 2.5;
// Standard deviation of fresh tables of tokens, positions and the class token (random_weights: 1). BERT and
// ViT begin with 0.02; from 1, a thousand steps of AdamW leave most of a word's vector as it was drawn.
constexpr float kTableDeviation = 0.1f;

train::TrainerOptions options_of(const ClassifierPlan& plan, uint64_t seed, double rate, size_t steps,
                                 const train::RangeLosses& ranges) {
  train::TrainerOptions options;
  options.batch = plan.batch;
  options.rate = {rate, std::max<size_t>(1, steps / 10), steps, 0.05};
  options.ranges = ranges;
  options.seed = data_seed(seed);
  options.fixed_score_offset = true;  // where there is one
  return options;
}

// "96.2% +- 0.6": a share of so many examples, and the standard error that drawing them gives it, sqrt(a (1 -
// a) / n).
std::string accuracy_text(double accuracy, double examples) {
  return percent(accuracy) + format(" +- %.1f", 100 * std::sqrt(accuracy * (1 - accuracy) / examples));
}

class Classifiers {
 public:
  Classifiers(StudyContext& context, const ClassifierPlan& plan)
      : context_(context),
        plan_(plan),
        compared_(compared_attentions(plan.model.power)),
        steps_(context.steps((static_cast<double>(compared_.size()) + kRangeShare) / plan.share *
                             training_step_flops(plan.model, plan.batch))),
        range_steps_(std::max<size_t>(4, static_cast<size_t>(kRangeShare * static_cast<double>(steps_)))),
        held_out_(plan.source.validation(context.examples(kHeldOut))) {}

  void fill(StudyResult& result) {
    SvgPanel panel;
    panel.title = plan_.name;
    panel.x_label = seen_label("training examples");
    panel.y_label = "% right, held out";
    Trainings power;  // of the default recipe, which goes through the rest of it
    for (const ComparedAttention& attention : compared_) {
      Trainings trainings = train_classifier(context_, plan_, attention, steps_);
      panel.line(attention.label, mean_curve(trainings, percent_correct));
      if (softmax_.seeds.empty()) softmax_ = trainings;
      add(attention.label, steps_, trainings);
      if (attention.offset) power = std::move(trainings);
    }
    result.plot(panel);
    const size_t all_steps = steps_ + range_steps_;
    const Trainings form = follow_seeds(context_, "the same weights in the encrypted form", power,
                                        [&](const Trained& start, uint64_t) {
                                          Trained trained;
                                          trained.weights = inference_form(start.weights, plan_.source);
                                          trained.final = train::evaluate(trained.weights, held_out_);
                                          return trained;
                                        });
    add(form.label, steps_, form);
    const Trainings ranged =
        follow_seeds(context_, "after range minimisation", form, [&](const Trained& start, uint64_t seed) {
          return psm::cmd::train(
              context_, plan_.name + "-ranges-s" + std::to_string(seed), start.weights, plan_.source,
              options_of(plan_, seed, plan_.range_rate, range_steps_, plan_.range_losses), range_steps_);
        });
    add(ranged.label, all_steps, ranged);
    const Trainings polynomial =
        follow_seeds(context_, "polynomial", ranged, [&](const Trained& start, uint64_t seed) {
          const Json found = context_.once(message(plan_.name, ", polynomial, seed ", seed),
                                           [&] { return measure_polynomial(start.weights); });
          if (seed == 1) add_outside(found.at("outside", "the polynomial model"));
          Trained trained;
          trained.final = evaluation_from(found, "the polynomial model");
          return trained;
        });
    add(polynomial.label, all_steps, polynomial);
    result.table(
        message(plan_.name, ": ", held_out_.sequences, " held-out examples; batches of ", plan_.batch),
        table_);
    result.table(message(plan_.name, ": what leaves the polynomials' intervals on these examples, seed 1"),
                 outside_);
  }

 private:
  // The polynomial model's evaluation, and "outside": {function: [values, those outside]}, over the layers.
  Json measure_polynomial(const attention::ModelWeights& weights) const {
    const attention::PolynomialModel model = attention::make_polynomial(
        weights, train::measure_ranges(weights, plan_.source, context_.examples(kRangeExamples)),
        {.margin = kMargin});
    Json measured = evaluation_json(train::evaluate_polynomial(model, held_out_));
    std::map<std::string, std::array<int64_t, 2>> counts;
    for (const attention::RangeUse& use : attention::count_range_leaves(model, held_out_.examples())) {
      counts[use.function][0] += use.values;
      counts[use.function][1] += use.outside;
    }
    Json& outside = measured["outside"] = Json(Json::Object{});
    for (const auto& [function, count] : counts) outside[function] = Json::Array{count[0], count[1]};
    return measured;
  }

  void add_outside(const Json& outside) {
    for (const auto& [function, counts] : outside.object("values outside")) {
      const Json::Array& pair = counts.array(function);
      PSM_CHECK(pair.size() == 2, pair.size());
      const auto count = [&](const Json& json) {
        return std::to_string(json.integer(function, 0, INT64_MAX));
      };
      outside_.row({function, count(pair[0]), count(pair[1])});
    }
  }

  void add(const std::string& stage, size_t steps, const Trainings& trainings) {
    const double accuracy = mean_final(trainings, percent_correct) / 100;
    const auto diverged = std::count_if(trainings.seeds.begin(), trainings.seeds.end(),
                                        [](const Trained& seed) { return !seed.diverged.empty(); });
    std::string text = std::isnan(accuracy) ? "" : accuracy_text(accuracy, held_out_.sequences);
    if (diverged > 0) text += message(text.empty() ? "" : ", ", diverged, " diverged");
    const double nats = mean_final(trainings, [](const train::Evaluation& e) { return e.cross_entropy; });
    table_.row({stage, std::to_string(steps), text,
                paired_difference_text(trainings, softmax_, percent_correct),
                std::isfinite(nats) ? format("%.3f", nats) : "not finite"});
  }

  StudyContext& context_;
  const ClassifierPlan& plan_;
  const std::vector<ComparedAttention> compared_;
  const size_t steps_, range_steps_;
  const train::Batch held_out_;
  Trainings softmax_;
  Table table_{{"stage", "steps", "right, +- standard error", "to softmax's, points", "cross entropy, nats"}};
  Table outside_{{"function", "values", "outside"}};
};

}  // namespace

attention::ModelWeights fresh_classifier(const attention::ModelConfig& model, uint64_t seed) {
  attention::ModelWeights weights = attention::random_weights(model, weight_seed(seed));
  for (std::vector<float>* table : {&weights.embedding, &weights.position_embedding, &weights.class_token})
    for (float& entry : *table) entry *= kTableDeviation;
  return weights;
}

Trainings train_classifier(const StudyContext& context, const ClassifierPlan& plan,
                           const ComparedAttention& attention, size_t steps) {
  const attention::ModelConfig model = attention.in(plan.model);
  const std::string name =
      message(plan.name, "-", attention::name_of(attention.kind), attention.offset ? "-offset" : "", "-s");
  return train_seeds(context, attention.label, [&](uint64_t seed) {
    return train(context, name + std::to_string(seed), fresh_classifier(model, seed), plan.source,
                 options_of(plan, seed, plan.rate, steps, {}), steps);
  });
}

void compare_classifiers(StudyContext& context, const ClassifierPlan& plan, StudyResult& result) {
  Classifiers(context, plan).fill(result);
}

}  // namespace psm::cmd
