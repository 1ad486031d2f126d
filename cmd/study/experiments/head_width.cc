// What even powers ask of the width of heads. Unrelated queries and keys have scores about N(0, 1), and an
// even power keeps them all positive: a row of L of them adds up to about L (p - 1)!! beside the d_k^{p/2} of
// the one key that the query looks for. So wide heads and high powers should do better, and a score offset,
// which moves the zero of the power away from unrelated scores, should do without wide heads.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 2, kHeadDims[] = {16, 32, 64};
constexpr int kPowers[] = {2, 4, 6, 8}, kOffsetPowers[] = {4, 6};

struct Shape {
  int width, heads;
};

constexpr int kWidth = 64, kHeads = 2;  // the fixed one of both

// One width with fewer and wider heads, or two heads in models of more and more width.
Shape shape_of(bool fixed_width, int head_dim) {
  return fixed_width ? Shape{kWidth, kWidth / head_dim} : Shape{kHeads * head_dim, kHeads};
}

attention::ModelConfig model_of(const TextStudy& text, attention::AttentionKind kind, const Shape& shape) {
  attention::ModelConfig model = text.model(kind, kLayers, shape.width);
  model.heads = shape.heads;
  return model;
}

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const auto perplexity = [](const train::Evaluation& e) { return e.perplexity(); };
  double flops = 0;
  for (const bool fixed_width : {true, false})
    for (const int dim : kHeadDims)
      if (fixed_width || shape_of(false, dim).width != kWidth)  // a shape of both is trained once
        flops += static_cast<double>(1 + std::size(kPowers) + std::size(kOffsetPowers)) *
                 text.flops(model_of(text, attention::AttentionKind::kSoftmax, shape_of(fixed_width, dim)));
  const size_t steps = context.steps(flops);
  for (const bool fixed_width : {true, false}) {
    std::vector<std::string> columns = {"heads of", "width", "heads", "softmax"};
    for (const int p : kPowers) columns.push_back(message("p = ", p));
    for (const int p : kOffsetPowers) columns.push_back(message("p = ", p, ", c = ", p));
    Table table(columns);
    for (const int dim : kHeadDims) {
      const Shape shape = shape_of(fixed_width, dim);
      const Trainings softmax =
          text.train("softmax", model_of(text, attention::AttentionKind::kSoftmax, shape), steps);
      std::vector<std::string> row = {std::to_string(dim), std::to_string(shape.width),
                                      std::to_string(shape.heads), final_text(softmax, perplexity)};
      const auto add = [&](int power, bool offset) {
        attention::ModelConfig model = model_of(text, attention::AttentionKind::kPowerSoftmax, shape);
        model.power = power;
        model.score_offset = offset;
        row.push_back(
            paired_ratio_text(text.train(message("p = ", power), model, steps, offset), softmax, perplexity));
      };
      for (const int p : kPowers) add(p, false);
      for (const int p : kOffsetPowers) add(p, true);
      table.row(row);
    }
    result.table(message("perplexity of softmax on held-out text, and others' to it, after ", steps,
                         " steps of ", TextStudy::kBatch, " x ", TextStudy::kContext, " characters; ",
                         kLayers, " layers, ", fixed_width ? "one width" : "two heads"),
                 table);
  }
}

}  // namespace

Experiment head_width_experiment() {
  return {.name = "head-width",
          .title = "PowerSoftmax by width of heads, power and score offset",
          .scaled_down = "Not in the paper, whose heads are all 64 wide.",
          .run = run};
}

}  // namespace psm::cmd
