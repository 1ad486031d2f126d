// Does PowerSoftmax want another schedule than softmax? The rate and the share of warm-up, each alone; and a
// power that begins with 2, beside trainings whose schedule begins anew at the same step without a change of
// the power.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 4, kWidth = 64, kHeads = 2;

struct Schedule {
  const char* label;
  double rate, warmup;  // of the recipe's peak, of the steps
};
constexpr Schedule kSchedules[] = {{"half the rate", 0.5, 0.1},
                                   {"the recipe's rate, warm-up 10%", 1, 0.1},
                                   {"twice the rate", 2, 0.1},
                                   {"warm-up 2%", 1, 0.02},
                                   {"warm-up 30%", 1, 0.3}};
constexpr size_t kFirstShare = 4;  // of two parts the first takes one step of so many
constexpr int kFirstPower = 2;

double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }

class Schedules {
 public:
  Schedules(const StudyContext& context, StudyResult& result)
      : context_(context),
        result_(result),
        text_(context),
        steps_(context.steps(static_cast<double>(std::size(kSchedules) + 1) * kAttentions *
                                 text_.flops(model_of(attentions()[0])) +
                             text_.flops(model_of(attentions()[0])))),
        first_(std::max<size_t>(1, steps_ / kFirstShare)) {}

  void run() {
    std::vector<std::string> columns = {"schedule"};
    for (const ComparedAttention& attention : attentions()) columns.push_back(attention.label);
    for (const ComparedAttention& attention : attentions())
      if (attention.kind != attention::AttentionKind::kSoftmax)
        columns.push_back(attention.label + " to softmax");
    for (const ComparedAttention& attention : attentions()) columns.push_back("clipped, " + attention.label);
    Table table(columns);
    for (const Schedule& schedule : kSchedules) {
      std::vector<Trainings> row;
      for (const ComparedAttention& attention : attentions()) row.push_back(train(attention, schedule));
      add(table, schedule.label, row);
    }
    std::vector<Trainings> anew;
    for (const ComparedAttention& attention : attentions())
      anew.push_back(in_two_parts(attention, attention));
    add(table, "begun anew after a quarter", anew);
    const ComparedAttention ours = attentions().back();
    ComparedAttention square = ours;
    square.power = kFirstPower, square.offset = false;
    const Trainings annealed = in_two_parts(square, ours);
    table.row({message("p = ", kFirstPower, " in that quarter"), "", "", final_text(annealed, perplexity), "",
               paired_ratio_text(annealed, anew.front(), perplexity), "", "", clipped_text(annealed)});
    result_.table(
        message("perplexity on held-out text after ", steps_, " steps of ", TextStudy::kBatch, " x ",
                TextStudy::kContext, " characters, ", kLayers, " layers of d = ", kWidth, ", heads of ",
                kWidth / kHeads, "; to softmax with the same schedule; steps whose gradient was clipped"),
        table);
  }

 private:
  static constexpr double kAttentions = 3;

  // Softmax, the paper's PowerSoftmax and ours.
  static std::vector<ComparedAttention> attentions() {
    const std::vector<ComparedAttention> all = compared_attentions();
    return {all[0], all[1], all[3]};
  }

  attention::ModelConfig model_of(const ComparedAttention& attention) const {
    attention::ModelConfig model = attention.in(text_.model(attention.kind, kLayers, kWidth));
    model.heads = kHeads;
    return model;
  }

  // A training of so many steps, from random weights or from those of the first part.
  train::TrainerOptions options_of(const Schedule& schedule, size_t steps, uint64_t seed) const {
    train::TrainerOptions options = text_.training(steps, seed, /*fixed_offset=*/true);
    options.rate.peak *= schedule.rate;
    options.rate.warmup =
        std::max<size_t>(1, static_cast<size_t>(schedule.warmup * static_cast<double>(steps)));
    return options;
  }

  Trainings train(const ComparedAttention& attention, const Schedule& schedule) const {
    const attention::ModelConfig model = model_of(attention);
    return train_seeds(context_, attention.label, [&](uint64_t seed) {
      return text_.train(message("schedule-", TextStudy::name_of(model), "-r", schedule.rate, "-w",
                                 schedule.warmup, "-s", seed),
                         attention::random_weights(model, weight_seed(seed)),
                         options_of(schedule, steps_, seed));
    });
  }

  // The first part at the full rate to its end; the second on other batches.
  Trainings in_two_parts(const ComparedAttention& first, const ComparedAttention& second) const {
    const attention::ModelConfig from = model_of(first), to = model_of(second);
    const Trainings begun = train_seeds(context_, first.label, [&](uint64_t seed) {
      train::TrainerOptions options = options_of(kSchedules[1], first_, seed);
      options.rate.floor = 1;
      return text_.train(message("schedule-first-", TextStudy::name_of(from), "-s", seed),
                         attention::random_weights(from, weight_seed(seed)), options);
    });
    return follow_seeds(context_, second.label, begun, [&](const Trained& start, uint64_t seed) {
      attention::ModelWeights weights = start.weights;
      if (first.power != second.power || first.offset != second.offset)
        weights =
            train::with_attention(std::move(weights), to.attention, to.power, to.epsilon, to.score_offset);
      train::TrainerOptions options = options_of(kSchedules[1], steps_ - first_, seed);
      options.seed = data_seed(seed + kSecondPart);
      return text_.train(
          message("schedule-then-", TextStudy::name_of(from), "-", TextStudy::name_of(to), "-s", seed),
          weights, options);
    });
  }
  static constexpr uint64_t kSecondPart = 1000;  // beyond the seeds of a study

  static std::string clipped_text(const Trainings& trainings) {
    double sum = 0;
    for (const Trained& seed : trainings.seeds) sum += clipped_share(seed);
    return percent(sum / static_cast<double>(trainings.seeds.size()));
  }

  void add(Table& table, const std::string& label, const std::vector<Trainings>& all) const {
    std::vector<std::string> row = {label};
    for (const Trainings& trainings : all) row.push_back(final_text(trainings, perplexity));
    for (size_t other = 1; other < all.size(); ++other)
      row.push_back(paired_ratio_text(all[other], all[0], perplexity));
    for (const Trainings& trainings : all) row.push_back(clipped_text(trainings));
    table.row(row);
  }

  const StudyContext& context_;
  StudyResult& result_;
  const TextStudy text_;
  const size_t steps_, first_;
};

void run(StudyContext& context, StudyResult& result) { Schedules(context, result).run(); }

}  // namespace

Experiment schedule_experiment() {
  return {
      .name = "schedule",
      .title = "Rate, warm-up and a power that begins with 2",
      .scaled_down =
          "Not in the paper, which trains every attention with one schedule; 4 layers of d = 64 with heads "
          "of 32 on characters of novels. Trainings in two parts begin AdamW's moments anew with the "
          "schedule. Of those in two parts the share of clipped steps is the second's.",
      .run = run};
}

}  // namespace psm::cmd
