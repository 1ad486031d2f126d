// What range minimisation owes to what. It continues a trained model at a fresh learning rate, with rescaled
// scores, in the form that runs encrypted and with losses on the ranges; here each of these is taken alone,
// for as many steps. Beside them every form from random weights for all the steps, under one schedule, and
// softmax for as many steps as the others.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 4, kWidth = 64, kHeads = 2;
constexpr size_t kShare = 2;                  // one further step for so many before
constexpr double kForms = 2;                  // the default and the paper's
constexpr double kSoftmax = 3, kPower = 4.5;  // of the steps before: trained for a softmax, and for a form

double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }

attention::ModelWeights in_stable_form(attention::ModelWeights weights) {
  weights.config.form = attention::PowerForm::kStable;
  weights.config.epsilon = train::RecipeOptions{}.training_epsilon;
  return weights;
}

class Controls {
 public:
  Controls(const StudyContext& context, StudyResult& result)
      : context_(context),
        result_(result),
        text_(context),
        steps_(context.steps((kSoftmax + kForms * kPower) * text_.flops(model_of({})))),
        further_(std::max<size_t>(4, steps_ / kShare)) {}

  void run() {
    const std::vector<ComparedAttention> compared = compared_attentions();
    const Trainings softmax = text_.train("softmax", model_of(compared[0]), steps_);
    softmax_longer_ = go_on(softmax, "softmax, going on", "softmax", as_it_is, {});
    Table table({"", "steps", "perplexity", "to softmax going on"});
    for (const Trainings& trainings :
         {softmax, softmax_longer_,
          text_.train("softmax from random weights, all steps", model_of(compared[0]), steps_ + further_)})
      table.row({trainings.label, steps_text(trainings), final_text(trainings, perplexity),
                 paired_ratio_text(trainings, softmax_longer_, perplexity)});
    result_.table(heading("softmax"), table);
    for (const ComparedAttention& attention : {compared[3], compared[1]}) controls_of(attention);
  }

 private:
  static attention::ModelWeights as_it_is(attention::ModelWeights weights) { return weights; }

  attention::ModelConfig model_of(const ComparedAttention& attention) const {
    attention::ModelConfig model = attention.in(text_.model(attention.kind, kLayers, kWidth));
    model.heads = kHeads;
    return model;
  }

  std::string heading(const std::string& what) const {
    return message(what, ": held-out text after ", steps_, " steps of ", TextStudy::kBatch, " x ",
                   TextStudy::kContext, " characters and ", further_, " further ones; ", kLayers,
                   " layers of d = ", kWidth, ", heads of ", kWidth / kHeads);
  }

  std::string steps_text(const Trainings& trainings) const {
    const size_t steps = trainings.first().steps;
    return steps == further_ ? message(steps_, " + ", steps) : std::to_string(steps);
  }

  // Further steps of each seed's model as `begin` makes it ready.
  Trainings go_on(const Trainings& from, const std::string& label, const std::string& name,
                  const std::function<attention::ModelWeights(attention::ModelWeights)>& begin,
                  const train::RangeLosses& losses) const {
    return follow_seeds(context_, label, from, [&](const Trained& start, uint64_t seed) {
      train::TrainerOptions options = text_.range_training(further_, seed, /*fixed_offset=*/true);
      options.ranges = losses;
      return text_.train(message("controls-", name, "-s", seed), begin(start.weights), options);
    });
  }

  void controls_of(const ComparedAttention& attention) {
    const attention::ModelConfig model = model_of(attention);
    const std::string name = message("p", attention.power, attention.offset ? "-offset" : "");
    const Trainings trained = text_.train("the stable form", model, steps_, /*fixed_offset=*/true);
    attention::ModelConfig inference = model;
    inference.form = attention::PowerForm::kLengthAgnostic;
    inference.epsilon = train::RecipeOptions{}.inference_epsilon;
    const auto inference_form = [&](attention::ModelWeights weights) {
      return text_.inference_form(std::move(weights));
    };
    const Trainings all[] = {
        trained,
        go_on(trained, "the stable form, going on", name + "-on", as_it_is, {}),
        go_on(trained, "its scores scaled, going on", name + "-scaled",
              [&](attention::ModelWeights weights) { return in_stable_form(inference_form(weights)); }, {}),
        go_on(trained, "scaled, in the form that runs encrypted", name + "-form", inference_form, {}),
        go_on(trained, "that, with range losses (the recipe)", name + "-ranges", inference_form,
              train::text_range_losses()),
        text_.train("the stable form from random weights, all steps", model, steps_ + further_, true),
        text_.train("the encrypted form from random weights, all steps", inference, steps_ + further_, true),
    };
    Table table({"", "steps", "perplexity", "to the recipe's", "to softmax going on",
                 "max/min of a denominator, encrypted form"});
    const Trainings& recipe = all[4];
    for (const Trainings& trainings : all)
      table.row({trainings.label, steps_text(trainings), final_text(trainings, perplexity),
                 paired_ratio_text(trainings, recipe, perplexity),
                 paired_ratio_text(trainings, softmax_longer_, perplexity), text_.spread_text(trainings)});
    result_.table(heading(attention.label), table);
  }

  const StudyContext& context_;
  StudyResult& result_;
  const TextStudy text_;
  const size_t steps_, further_;
  Trainings softmax_longer_;
};

void run(StudyContext& context, StudyResult& result) { Controls(context, result).run(); }

}  // namespace

Experiment controls_experiment() {
  return {
      .name = "controls",
      .title = "What range minimisation owes to what: the rate's restart, the scale, the form, the losses",
      .scaled_down =
          "Not in the paper, whose range minimisation follows a finished training; 4 layers of d = 64 with "
          "heads of 32 "
          "on characters of novels.",
      .run = run};
}

}  // namespace psm::cmd
