// Table softmax_methods_comparison: what the forms of attention weights cost on ciphertexts, in the
// transformer's packing, all by the same rules.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "attention/encrypted/row_program.h"
#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/program.h"
#include "cmd/deployment/deployment.h"
#include "cmd/server/memory_flag.h"
#include "cmd/study/experiment.h"
#include "cmd/study/softmax_methods.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

constexpr int kRowSequences = 16;  // whose scores are weighed
constexpr int kTokens = 128;
// Shapes of attention. A layer has `ciphertexts` of kBlockWidth features and T tokens, and heads of d / h features.
constexpr int kBlockWidth = 512;
struct AttentionShape {
  const char* name;
  int layers, ciphertexts, heads;  // heads: of a ciphertext

  attention::ModelConfig config() const {
    return {.vocab = 2,
            .context = kTokens,
            .layers = 1,
            .width = kBlockWidth,
            .heads = heads,
            .ffn = 4 * kBlockWidth};
  }
};
constexpr AttentionShape kShapes[] = {
    {"Pythia 70M", 6, 1, 8}, {"Pythia 1.4B", 24, 4, 4}, {"Llama-2-7B", 32, 8, 4}};
// Scores, values and what comes of them stand at this many levels below the highest: query, key and value
// took one, the scores two.
constexpr int kLevelsBefore = 3;
constexpr int kKeyBlocks[] = {1, 2, 4, 8};  // of a context of 1,024; between them costs are linear

// Attention of one block of queries in a layer by a method, as a plan in which scores and values come in and their sums
// go out at one level.
struct BlockPlan {
  attention::QueryBlock block;
  attention::RowPacking packing;
  double unit = 1;
  program::Program program;
  program::Plan plan;

  BlockPlan(const AttentionShape& shape, const SoftmaxMethod& method, int key_blocks,
            const ckks::Context& crypto, const program::CostModel& costs)
      : block(shape.config(), kTokens, static_cast<size_t>(crypto.slots()), key_blocks),
        packing(block.rows(method.score_bound)) {
    program::Builder builder(packing.slots);
    program::CarriedLevels carried;
    const ckks::Level level = ckks::Level::at(crypto.compute_level() - kLevelsBefore);
    for (int c = 0; c < shape.ciphertexts; ++c) {
      std::vector<program::Value> scores, values;
      for (int i = 0; i < block.score_ciphertexts(); ++i) {
        carried.emplace(score_name(c, i), level);
        scores.push_back(builder.input(score_name(c, i), /*real=*/true));
      }
      for (int l = 0; l < key_blocks; ++l) {
        carried.emplace(value_name(c, l), level);
        values.push_back(builder.input(value_name(c, l)));
      }
      const attention::QueryBlock::Output sums = block.attend(builder, method.row, packing, scores, values);
      unit = sums.unit;
      carried.emplace(sums_name(c), level);
      builder.output(sums_name(c), sums.sum);
    }
    program = std::move(builder).finish();
    plan = program::plan(program, costs, carried);
  }

  static std::string score_name(int c, int i) { return message("scores ", c, " ", i); }
  static std::string value_name(int c, int l) { return message("values ", c, " ", l); }
  static std::string sums_name(int c) { return message("sums ", c); }
};

// Predicted seconds of a layer's block: of the weights alone, and with the values' products, which are every method's.
struct BlockSeconds {
  double weights = 0, all = 0;
};

BlockSeconds seconds_of(const BlockPlan& block, const program::CostModel& costs) {
  const program::MeterReading reading = program::meter(block.plan, costs);
  BlockSeconds seconds{0, reading.seconds};
  for (size_t i = 0; i < reading.instruction_seconds.size(); ++i)
    if (block.plan.program.instructions[i].label.starts_with("weights"))
      seconds.weights += reading.instruction_seconds[i];
  return seconds;
}

// Seconds of a context of kKeyBlocks.back() blocks: every block of queries over its own keys and those before.
double long_context(const std::vector<BlockSeconds>& of, double BlockSeconds::*member) {
  double sum = 0;
  for (size_t i = 0; i < of.size(); ++i) {
    sum += of[i].*member;
    if (i + 1 == of.size()) break;
    const int apart = kKeyBlocks[i + 1] - kKeyBlocks[i];
    for (int step = 1; step < apart; ++step)
      sum += std::lerp(of[i].*member, of[i + 1].*member, 1.0 * step / apart);
  }
  return sum;
}

// The slots that go in: held-out rows of the model, the first heads' ones, and values that are drawn. All ciphertexts
// of a layer get the same.
std::map<std::string, program::SlotVector> inputs_of(const AttentionShape& shape, const BlockPlan& block,
                                                     const SoftmaxMethod& method) {
  std::vector<std::vector<double>> rows(block.packing.slots / block.packing.places);
  for (int t = 0; t < kTokens; ++t)
    for (int h = 0; h < block.block.heads(); ++h)
      rows[block.block.row_of(t, h)] = method.model->heads[static_cast<size_t>(h)][static_cast<size_t>(t)];
  TrainingRandom random(1);
  program::SlotVector values(block.packing.slots);
  for (ckks::Complex& v : values)
    v = {random.uniform(-1, 1) / kMethodMargin, random.uniform(-1, 1) / kMethodMargin};
  const auto scores = attention::pack_rows(method.row, block.packing, rows);
  std::map<std::string, program::SlotVector> inputs;
  for (int c = 0; c < shape.ciphertexts; ++c) {
    for (size_t i = 0; i < scores.size(); ++i)
      inputs[BlockPlan::score_name(c, static_cast<int>(i))] = scores[i];
    inputs[BlockPlan::value_name(c, 0)] = values;
  }
  return inputs;
}

struct Measured {
  double seconds = 0;  // of the second pass; 0: not run, for lack of memory
  double error = 0;    // of one output against the twin

  std::string text() const { return seconds > 0 ? format("%.1f", seconds) : "needs more memory"; }
};

// A plan on real ciphertexts, with fresh keys.
Measured measured(const program::Plan& plan, const std::map<std::string, program::SlotVector>& inputs,
                  const std::string& output, const std::shared_ptr<const ckks::Context>& crypto,
                  const ckks::BootstrapPlans& bootstraps) {
  const program::SlotVector clear = program::run_twin(plan.program, inputs).outputs.at(output);
  PlannedPass pass(crypto, plan, bootstraps);
  buffer_pool::trim();  // of what the pass before left
  // With all plaintexts kept where they fit, as a server with many prompts would.
  const size_t usual =
      std::exchange(pass.reading.encoded_limit, static_cast<size_t>(2 * pass.reading.plaintext_bytes));
  if (!fits_in_memory(pass.server_bytes())) pass.reading.encoded_limit = usual;
  if (!fits_in_memory(pass.server_bytes())) return {};
  RunFigures figures(pass);
  Session session(pass, figures);
  const Session::Ciphertexts encrypted = session.encrypt(inputs);
  Measured found;
  program::RunResult result;
  for (int run = 0; run < 2; ++run) {
    const double begin = seconds_now();
    result = session.run(encrypted);
    found.seconds = seconds_now() - begin;
  }
  const program::SlotVector sums = session.decrypt(result.outputs).at(output);
  double squares = 0;
  for (size_t s = 0; s < clear.size(); ++s) squares += std::norm(sums[s] - clear[s]);
  found.error = std::sqrt(squares / static_cast<double>(clear.size()));
  return found;
}

// Rows of scores alone, which stand for 32 matrices of 128 x 128 and for one row (the paper's app. he-param).
struct Rows {
  const char* name;
  int places, ciphertexts;
};
constexpr Rows kRows[] = {{"32 times 128 x 128", 128, 16}, {"1 x 32,768", 32768, 1}};

// The weights of these rows, all full, by a method with a last factor. They go out at the level of the scores.
Measured measured(const Rows& rows, const SoftmaxMethod& method,
                  const std::shared_ptr<const ckks::Context>& crypto, const ckks::BootstrapPlans& bootstraps,
                  const program::CostModel& costs) {
  const auto slots = static_cast<size_t>(crypto->slots()), places = static_cast<size_t>(rows.places);
  const attention::RowPacking packing{slots, rows.places, {rows.places}, method.score_bound};
  std::vector<double> row;  // longest rows of the model's heads
  for (size_t head = 0; row.size() < places; ++head) {
    const std::vector<double>& more = method.model->heads[head % method.model->heads.size()].back();
    row.insert(row.end(), more.begin(), more.end());
  }
  const program::SlotVector scores =
      attention::pack_rows(method.row, packing, std::vector(slots / places, row))[0];
  const ckks::Level level = ckks::Level::at(crypto->compute_level() - kLevelsBefore);
  program::Builder builder(slots);
  program::CarriedLevels carried;
  std::map<std::string, program::SlotVector> inputs;
  for (int c = 0; c < rows.ciphertexts; ++c) {
    const std::string in = message("scores ", c), out = message("weights ", c);
    carried.insert({{in, level}, {out, level}});
    inputs[in] = scores;
    const attention::RowWeights weights =
        attention::in_slots(builder, method.row, packing, {builder.input(in, /*real=*/true)});
    builder.output(out, builder.refresh(builder.multiply(weights.slots[0], weights.factor)));
  }
  return measured(program::plan(std::move(builder).finish(), costs, carried), inputs, "weights 0", crypto,
                  bootstraps);
}

ScoreRows scored(const Trained& trained, const train::Batch& examples) {
  if (!trained.diverged.empty()) throw Error(trained.diverged, Error::Kind::kFailed);
  return score_rows(trained.weights, examples);
}

}  // namespace

void show_softmax_costs(const StudyOptions&, const train::DataSource& source, const TrainedGroup& trained,
                        StudyResult& result) {
  const train::Batch examples = source.validation(kRowSequences);
  const ScoreRows softmax = scored(trained.rows[0].front(), examples), scaled_softmax = scaled_down(softmax),
                  power = scored(trained.rows.back().front(), examples),
                  relu = scored(trained.rows[1].front(), examples);
  const auto context = std::make_shared<const ckks::Context>(ckks::secure_n16());
  const ckks::Context& crypto = *context;
  const program::KernelSeconds kernels = program::calibrate(crypto).kernels;
  const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(crypto, {{}});
  const program::CostModel costs = program::costs_of(crypto, bootstraps, kernels);
  Table one({"shape", "method", "levels", "bootstraps", "seconds, predicted", "seconds, measured",
             "noise of the sums", "worst weight error"});
  Table all({"shape", "method", "128 tokens: weights", "with values", "1,024 tokens: weights", "with values",
             "weights to the first's, 128", "1,024"});
  std::vector<std::vector<SoftmaxMethod>> by_length;  // of kKeyBlocks
  for (const int blocks : kKeyBlocks)
    by_length.push_back(softmax_methods(softmax, scaled_softmax, power, relu, blocks * kTokens));
  const std::vector<SoftmaxMethod>& methods = by_length.front();
  std::vector<double> worst_errors;
  for (const SoftmaxMethod& method : methods) worst_errors.push_back(worst_weight_error(method));
  Table rows({"weights of PowerSoftmax alone", "ciphertexts", "seconds, measured"});
  for (const Rows& each : kRows) {
    print(each.name, "\n");
    rows.row({each.name, std::to_string(each.ciphertexts),
              measured(each, methods.front(), context, bootstraps, costs).text()});
  }
  for (const AttentionShape& shape : kShapes) {
    double first_short = 0, first_long = 0;
    for (size_t i = 0; i < methods.size(); ++i) {
      const SoftmaxMethod& method = methods[i];
      print(shape.name, ", ", method.name, "\n");
      const BlockPlan block(shape, method, 1, crypto, costs);
      std::vector<BlockSeconds> seconds = {seconds_of(block, costs)};
      for (size_t b = 1; b < by_length.size(); ++b)
        seconds.push_back(seconds_of(BlockPlan(shape, by_length[b][i], kKeyBlocks[b], crypto, costs), costs));
      Measured run =
          measured(block.plan, inputs_of(shape, block, method), BlockPlan::sums_name(0), context, bootstraps);
      run.error *= kMethodMargin * block.unit;  // of the sums of values up to 1
      one.row({shape.name, method.name, std::to_string(program::longest_path(block.program)),
               std::to_string(block.plan.bootstraps), format("%.1f", seconds[0].all), run.text(),
               // Slots that leave an interval by noise are worth nothing.
               run.seconds == 0 ? ""
               : run.error < 1  ? format("%.2g", run.error)
                                : "lost in noise",
               format("%.2g", worst_errors[i])});
      const double weights = seconds[0].weights, long_weights = long_context(seconds, &BlockSeconds::weights);
      if (i == 0) first_short = weights, first_long = long_weights;
      all.row({shape.name, method.name, format("%.0f", shape.layers * weights),
               format("%.0f", shape.layers * seconds[0].all), format("%.0f", shape.layers * long_weights),
               format("%.0f", shape.layers * long_context(seconds, &BlockSeconds::all)),
               format("%.1f", weights / first_short), format("%.1f", long_weights / first_long)});
    }
  }
  result.table(message("one layer at ", kTokens,
                       " tokens; in the fewest levels for errors of 2^-8 (scaled ReLU: absolute ones), ",
                       "unless 21 iterations are those of the paper"),
               one);
  result.table("all layers, predicted seconds", all);
  result.table("rows of scores, without values", rows);
  result.note(message("Largest |score| of the softmax model: ", format("%.1f", softmax.bound),
                      ". Forms of exp without a maximum are given it scaled down to ",
                      format("%.0f", scaled_softmax.bound), ". ", crypto.describe()));
}

}  // namespace psm::cmd
