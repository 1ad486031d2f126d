// Trainings of an experiment: its rows with every seed, and a plot and a table of each group.
#include <algorithm>

#include "attention/reference/polynomial_model.h"
#include "attention/reference/range_use.h"
#include "attention/trained/measure.h"
#include "cmd/study/experiment.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "train/stages/score_scale.h"

namespace psm::cmd {
namespace {

using attention::AttentionKind;
using attention::ModelConfig;
using attention::ModelWeights;
using attention::PowerForm;

constexpr int kScaleSequences = 64, kRangeExamples = 2000;
constexpr uint64_t kScaleSeed = 7;
// Margin of a classifier's intervals: one image in a thousand has a score a quarter larger than any in
// training, and with it a denominator 1.25^4 = 2.4 times as large.
constexpr double kMargin = 2.5;

// What rows of an experiment have in common.
struct Setting {
  Task task;
  int batch;
  double rate, range_rate;  // the largest
  bool classifier = task.is_classifier();
  Metric metric = classifier ? percent_correct : bits_per_token;
  const char* seen = classifier ? "training examples seen" : "characters seen";
  const char* measure = classifier ? "% right, held out" : "bits a character, held out";
};

Setting setting_of(StudyData data, const StudyOptions& options) {
  if (data == StudyData::kPhrases)
    return {Task::sentences(options.data_file("glue/sst2-train.tsv"), "", 48,
                            nn::load_tokenizer(options.data_file("tokenizer/gpt2-encoder.json"))),
            16, 2e-3, 5e-4};
  if (data == StudyData::kImages)
    return {Task::images(options.data_file("image/mnist-t10k-images-idx3-ubyte.gz"),
                         options.data_file("image/mnist-t10k-labels-idx1-ubyte.gz")),
            32, 2e-3, 5e-4};
  const bool novels = options.text.empty();
  return {Task::text(novels ? options.data_file("text/gutenberg7-train.txt") : options.text,
                     novels ? options.data_file("text/gutenberg7-valid.txt") : "", 128),
          8, 3e-3, 2e-3};
}

class Sweep {
 public:
  Sweep(const Experiment& experiment, const StudyOptions& options, StudyResult& result)
      : experiment_(experiment),
        options_(options),
        result_(result),
        setting_(setting_of(experiment.data, options)),
        source_(*setting_.task.source) {
    double flops = 0;
    for (const Group& group : experiment.groups)
      for (const Row& row : group.rows)
        flops += row.steps * training_step_flops(config_of(group, row), setting_.batch);
    if (experiment.trainings > 0) {
      const Group& group = experiment.groups.front();
      flops =
          experiment.trainings * training_step_flops(config_of(group, group.rows.front()), setting_.batch);
    }
    steps_ = options.steps(flops);
  }

  void run() {
    for (const Group& group : experiment_.groups) {
      std::vector<Seeds> trained;
      for (const Row& row : group.rows) {
        print(row.label, "\n");
        Seeds seeds;
        for (int seed = 1; seed <= options_.seeds; ++seed)
          seeds.push_back(train(group, row, trained, static_cast<uint64_t>(seed)));
        trained.push_back(std::move(seeds));
      }
      plot(group, trained);
      tabulate(group, trained);
      if (experiment_.show) experiment_.show(options_, source_, {group, std::move(trained)}, result_);
    }
  }

 private:
  ModelConfig config_of(const Group& group, const Row& row) const {
    ModelConfig config = setting_.task.recipe(1, 1).model;
    config.attention = row.attention;
    config.form = row.form;
    config.power = row.power;
    config.score_offset = row.offset;
    config.epsilon = row.epsilon;
    config.layers = group.layers, config.width = group.width, config.heads = group.heads;
    config.ffn = 4 * group.width;
    return config;
  }

  size_t steps_of(const Row& row) const {
    return row.steps == 0 ? 0
                          : std::max<size_t>(4, static_cast<size_t>(row.steps * static_cast<double>(steps_)));
  }

  // The weights of the row before, in this row's form.
  ModelWeights taken_over(const Row& row, ModelWeights weights) const {
    if (weights.config.attention != row.attention)
      weights = train::with_attention(std::move(weights), row.attention, row.power, row.epsilon);
    if (row.form != PowerForm::kLengthAgnostic || weights.config.form == row.form) return weights;
    const train::RecipeOptions recipe;
    weights.config.form = row.form;
    weights.config.epsilon = recipe.inference_epsilon;
    if (!row.scaled) return weights;
    TrainingRandom random(kScaleSeed);
    return train::with_score_scale(std::move(weights), source_.draw(kScaleSequences, random),
                                   recipe.mean_denominator);
  }

  train::TrainerOptions training(const Row& row, uint64_t seed) const {
    const bool ranges = row.form == PowerForm::kLengthAgnostic;
    const size_t steps = steps_of(row), most = setting_.classifier ? steps : ranges ? 50 : 100;
    train::TrainerOptions options;
    options.batch = setting_.batch;
    options.rate = {ranges ? setting_.range_rate : setting_.rate,
                    std::min(most, std::max<size_t>(1, steps / 10)), steps, 0.05};
    if (row.losses) options.ranges = row.losses();
    options.seed = data_seed(seed);
    options.fixed_score_offset = true;  // where there is one
    return options;
  }

  Trained train(const Group& group, const Row& row, const std::vector<Seeds>& before, uint64_t seed) {
    ModelWeights start;
    if (row.from < 0) {
      start = train::fresh_weights(config_of(group, row), weight_seed(seed),
                                   setting_.task.recipe(1, 1).table_scale);
    } else {
      const Trained& from = before[static_cast<size_t>(row.from)][seed - 1];
      if (!from.diverged.empty()) {  // without a curve, which would be that of the other row
        Trained lost;
        lost.diverged = from.diverged;
        return lost;
      }
      start = taken_over(row, from.weights);
    }
    if (row.steps > 0) return train_model(options_, start, source_, training(row, seed));
    Trained trained;
    const train::Batch examples = final_examples(options_, source_);
    trained.final =
        row.polynomial ? score_polynomial(start, examples, seed) : train::evaluate(start, examples);
    trained.weights = std::move(start);
    return trained;
  }

  train::Evaluation score_polynomial(const ModelWeights& weights, const train::Batch& examples,
                                     uint64_t seed) {
    const attention::PolynomialModel model = attention::make_polynomial(
        weights, train::measure_ranges(weights, source_, options_.examples(kRangeExamples)),
        {.margin = kMargin});
    int64_t values = 0, outside = 0;
    for (const attention::RangeUse& use : attention::count_range_leaves(model, examples.examples()))
      values += use.values, outside += use.outside;
    result_.note(message("Seed ", seed, ": ", outside, " of ", values,
                         " values of held-out examples leave the polynomials' intervals."));
    return train::evaluate(attention::batched(model), examples, "scoring the polynomial model");
  }

  // Models from random weights in one plot, and what is made of them in another.
  void plot(const Group& group, const std::vector<Seeds>& trained) {
    for (const bool fresh : {true, false}) {
      SvgPanel panel{.title = group.title + (fresh ? "" : ", trained on"),
                     .x_label = message(setting_.seen, fresh ? ", from a quarter of the training on" : ""),
                     .y_label = setting_.measure};
      for (size_t i = 0; i < trained.size(); ++i)
        if ((group.rows[i].from < 0) == fresh && group.rows[i].steps > 0)
          panel.line(group.rows[i].label, mean_curve(trained[i], setting_.metric, fresh ? 0.25 : 0));
      if (!panel.lines.empty()) result_.plot(panel);
    }
  }

  void tabulate(const Group& group, const std::vector<Seeds>& trained) {
    const auto base = std::ranges::find_if(
        group.rows, [](const Row& row) { return row.attention == AttentionKind::kSoftmax && row.from < 0; });
    Table table({"model", "steps", setting_.measure,
                 setting_.classifier ? "less softmax's" : "perplexity to softmax's"});
    for (size_t i = 0; i < trained.size(); ++i) {
      std::string compared = "-";
      if (base != group.rows.end()) {
        const Seeds& softmax = trained[static_cast<size_t>(base - group.rows.begin())];
        compared =
            setting_.classifier
                ? paired_text(
                      trained[i], softmax, percent_correct, [](double a, double b) { return a - b; }, "%+.2f")
                : paired_text(
                      trained[i], softmax, perplexity, [](double a, double b) { return a / b; }, "%.3f");
      }
      table.row({group.rows[i].label, std::to_string(steps_of(group.rows[i])),
                 final_text(trained[i], setting_.metric), compared});
    }
    result_.table(message(group.title, ": batches of ", setting_.batch, ", context ", source_.context(),
                          "; means over the seeds and half of their 95% intervals"),
                  table);
  }

  const Experiment& experiment_;
  const StudyOptions& options_;
  StudyResult& result_;
  const Setting setting_;
  const train::DataSource& source_;
  size_t steps_ = 0;
};

}  // namespace

void run_experiment(const Experiment& experiment, const StudyOptions& options, StudyResult& result) {
  if (experiment.run) {
    experiment.run(result);
  } else {
    Sweep(experiment, options, result).run();
  }
}

}  // namespace psm::cmd
