// Figs. powerVssoftmaxrWikit and robertaWikitext, Table comparison: softmax, PowerSoftmax and scaled ReLU by
// depth.
#include <cmath>

#include "cmd/study/experiments/experiment.h"
#include "cmd/study/experiments/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kWidth = 64;
constexpr int kLayers[] = {2, 4, 8};

double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  double flops = 0;
  for (const int layers : kLayers)
    for (const auto& [label, kind] : kComparedAttentions)
      flops += text.flops(text.model(kind, layers, kWidth));
  const size_t steps = context.steps(flops);

  Table table({"layers", "softmax", "PowerSoftmax", "scaled ReLU", "perplexity, PowerSoftmax / softmax",
               "scaled ReLU / softmax"});
  for (const int layers : kLayers) {
    SvgPanel panel;
    panel.title = std::to_string(layers) + " layers";
    panel.x_label = seen_label("characters");
    panel.y_label = "bits a character, held out";
    std::vector<std::string> row = {std::to_string(layers)};
    std::vector<double> perplexities;
    for (const auto& [label, kind] : kComparedAttentions) {
      const Trainings trainings = text.train(label, text.model(kind, layers, kWidth), steps);
      panel.line(label, mean_curve(trainings, bits_per_token));
      row.push_back(final_text(trainings, bits_per_token));
      perplexities.push_back(mean_final(trainings, perplexity));
    }
    for (const int other : {1, 2}) row.push_back(format("%.3f", perplexities[other] / perplexities[0]));
    result.plot(panel);
    table.row(row);
  }
  result.table(message("bits a character on held-out novels after ", steps, " steps of ", TextStudy::kBatch,
                       " x ", TextStudy::kContext, " characters"),
               table);

  Table paper({"in the paper (perplexity)", "softmax", "PowerSoftmax", "scaled ReLU",
               "PowerSoftmax / softmax", "scaled ReLU / softmax"});
  const auto paper_row = [&](const char* name, double softmax, double power, double relu) {
    paper.row({name, format("%.4g", softmax), format("%.4g", power), relu > 0 ? format("%.4g", relu) : "-",
               format("%.3f", power / softmax), relu > 0 ? format("%.3f", relu / softmax) : "-"});
  };
  paper_row("WikiText-103, 6 layers", 21.18, 21.27, 0);
  paper_row("WikiText-103, 12 layers", 18.60, 18.76, 0);
  paper_row("WikiText-103, 16 layers", 17.64, 17.81, 0);
  paper_row("Text-8, 6 layers", 2.585, 2.630, 0);
  paper_row("Text-8, 12 layers", 2.477, 2.515, 0);
  paper_row("Text-8, 16 layers", 2.383, 2.413, 0);
  paper_row("Pile", 16.05, 16.51, 0);
  paper_row("WikiText-103, RoBERTa, 12 layers", 8.48, 8.69, 9.12);
  result.table("Table comparison, and the text of app. RoBERTa", paper);
}

}  // namespace

Experiment depth_experiment() {
  return {.name = "depth",
          .title = "Softmax, PowerSoftmax and scaled ReLU by depth, on real text",
          .scaled_down =
              "Characters of seven novels instead of WikiText-103, Text-8 and the Pile; 2, 4 and 8 layers of "
              "d = 64, "
              "causal ones also for fig:robertaWikitext, and minutes instead of days on GPUs. So models are "
              "far from "
              "converged, and what can be compared is the ratio of perplexities. PowerSoftmax has p = 4, the "
              "paper's "
              "choice for all models.",
          .run = run};
}

}  // namespace psm::cmd
