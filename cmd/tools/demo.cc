// The main job, from nothing to an encrypted answer: train, make polynomial, plan, make keys, encrypt, infer
// on ciphertexts, decrypt, compare with the twin and with the original model.

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/memory.h"
#include "ckks/program/machines/twin.h"
#include "cmd/deployment/deployment.h"
#include "cmd/prompts/comparison.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/reports/polynomial_report.h"
#include "cmd/server/memory_flag.h"
#include "cmd/server/run_figures.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::cmd {
namespace {

void heading(const char* text) { print("\n== ", text, "\n"); }

void print_plan(const Deployment& d, const RunFigures& figures) {
  const ckks::Context& context = *d.context;
  print("  ", context.describe(), "\n");
  print("  ", context.compute_level() - context.entry_level(), " usable levels between two bootstraps\n");
  print("  a bootstrap removes all multiples of q_0, those beyond ", ckks::EvalMod::kExactUpTo,
        " (probability ", format("2^%.1f", d.bootstraps.at({}).log2_rare_multiple()), ") less exactly\n");
  print("  ", counted(static_cast<size_t>(d.packing.prompts), "prompt"), " of ", d.packing.tokens, " tokens ",
        d.packing.prompts == 1 ? "fills" : "share", " a ciphertext of ", context.slots(), " slots\n");
  print("  ", d.plan.program.instructions.size(), " instructions, ", d.plan.bootstraps, " bootstraps, ",
        d.keys.count(context.chain()), " evaluation keys (",
        bytes_text(static_cast<double>(d.keys.bytes(context.chain()))), "), about ",
        bytes_text(figures.predicted_bytes()), " of memory\n");
}

// Every value of the program on one group's inputs in the clear, by id.
std::vector<program::SlotVector> clear_values(const program::Program& program,
                                              const attention::SlotVectors& inputs) {
  std::vector<program::SlotVector> values(static_cast<size_t>(program.value_count()));
  program::TwinOptions options;
  options.observe = [&](const program::Instruction&, program::Value value,
                        std::span<const ckks::Complex> slots) {
    values[value.id].assign(slots.begin(), slots.end());
  };
  program::run_twin(program, inputs, options);
  return values;
}

// The share of scored positions where the argmax is the batch's target.
double accuracy(const train::Batch& batch, const LogitRows& scored) {
  size_t row = 0, correct = 0;
  for (const int target : batch.targets) {
    if (target >= 0) correct += argmax(scored.at(row++)) == target;
  }
  return static_cast<double>(correct) / static_cast<double>(row);
}

int demo(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:demo -- [flags]",
      "Trains a small PowerSoftmax transformer, makes it polynomial, encrypts prompts, runs the model on the "
      "ciphertexts at 128-bit security, decrypts, and compares. Without flags: in-context recall, on "
      "sequences that it draws itself. With --text: a character model of that text.");
  const std::string& model_path =
      flags.text("model", "", "use this polynomial model instead of training one");
  const std::string& text_path =
      flags.text("text", "", "train a character model of this text instead of recall");
  const std::string& prompt = flags.text("prompt", "", "what the text model continues");
  const bool& paper = flags.truth(
      "paper", false, "train and replace as printed in the paper (//cmd:train, //cmd:polynomialise)");
  const int64_t& steps =
      flags.integer("steps", 1200, 1, 1000000, "training steps of a text model, each stage at most");
  const int64_t& prompt_count = flags.integer("prompts", 16, 1, 1024, "recall prompts to run encrypted");
  const int64_t& seed =
      flags.integer("seed", 1, 1, INT64_MAX, "of data and training; cryptography takes no seed");
  const std::string& save = flags.output("save", "write the polynomial model to this file");
  const LedgerFlag ledger_file(flags);
  const RingFlags ring(flags);
  flags.begin(argc, argv);
  const ckks::ParameterSpec spec = ring.spec();
  if (flags.given("model") && flags.given("text")) throw Error("--model and --text exclude each other");
  if (flags.given("model") && flags.given("save"))
    throw Error("--save saves a model that was trained; --model has one");
  if (flags.given("model") && paper) throw Error("--paper trains a model; --model has one");

  if (spec.log_n == 16)
    print(
        "This takes about 8 GB of memory and no disk; on two idle cores about a minute, a text model "
        "minutes.\nTo try it small, without security: --insecure --log-n 11 takes 0.4 GB and half a "
        "minute.\n");
  const double begin = seconds_now();
  double training_seconds = 0;
  attention::Checkpoint checkpoint;
  TaskScores scores;
  std::unique_ptr<Task> task;
  if (flags.given("model")) {
    heading("Model");
    checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
    const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);
    if (codec.is_classifier())
      throw Error("a classifier is run by //cmd:keygen, //cmd:encrypt, //cmd:infer and //cmd:decrypt");
    scores = read_scores(checkpoint);
    if (codec.is_recall())
      task = std::make_unique<Task>(Task{std::make_unique<train::RecallTask>(codec.recall()), codec});
    if (!task && prompt.empty()) throw Error("a text model needs --prompt");
    print("  ", model_path, ": ", checkpoint.weights.parameters(), " parameters\n");
    if (scores.trained.scored > 0)
      print("  (scores of softmax and PowerSoftmax as recorded when it was trained)\n");
  } else {
    heading(flags.given("text") ? "Training a character model" : "Training on in-context recall");
    task = std::make_unique<Task>(flags.given("text")
                                      ? Task::text(resolve_user_path(text_path), "", train::kTextContext)
                                      : Task::recall());
    if (!task->counts_right() && prompt.empty()) throw Error("--text needs a --prompt to continue");
    if (!prompt.empty())  // refuse it now rather than after training
      require_answerable({task->codec.encode(prompt)}, task->codec, task->source->context());
    train::RecipeOptions recipe = task->recipe(static_cast<size_t>(steps), static_cast<uint64_t>(seed));
    if (paper) train::follow_paper(recipe);
    print("  ", task->source->description(), "\n");
    print("  budget: at most ", recipe.steps, " steps each for softmax and PowerSoftmax, ",
          recipe.range_steps, " to minimise ranges, ", recipe.training.batch, " sequences a step\n");
    TrainingRun run = train_task(*task, recipe);
    checkpoint = std::move(run.checkpoint);
    checkpoint.polynomial = paper ? attention::paper_polynomials() : attention::PolynomialOptions{};
    scores = run.scores;
    training_seconds = run.seconds;
    if (!save.empty()) attention::save_checkpoint(resolve_user_path(save), checkpoint);
  }
  const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);

  heading("Polynomial model");
  const Deployment deployment(checkpoint, ckks::Context(spec));
  if (task)
    static_cast<train::Evaluation&>(scores.polynomial) =
        train::evaluate(attention::batched(deployment.model), task->test(), "scoring the polynomial model");
  if (task) print(scores_table(*task, scores));
  print(approximation_figures(deployment.model).table().text());

  heading("Plan");
  ring.require_security(*deployment.context);
  const double clear_bytes =
      ledger_file.given() ? static_cast<double>(deployment.plan.program.slots * sizeof(ckks::Complex)) *
                                deployment.plan.program.value_count()
                          : 0;
  RunFigures figures(deployment, clear_bytes);
  print_plan(deployment, figures);
  require_memory(deployment.server_bytes() + static_cast<size_t>(clear_bytes));

  std::vector<std::vector<int>> prompts{codec.encode(prompt)};
  if (codec.is_recall() && prompt.empty())
    prompts = codec.sample(static_cast<int>(prompt_count), static_cast<uint64_t>(seed) + 1);
  const int context_length = checkpoint.weights.config.context;
  require_answerable(prompts, codec, context_length);
  const TwinPrediction twin = run_twin_on(deployment, prompts);

  heading("Keys, encryption, inference on ciphertexts, decryption");
  program::Ledger ledger(deployment.plan, deployment.context->scales());
  ledger.set_ranges(twin.observations);
  ledger.set_predicted_errors(twin.own_error, twin.accumulated_error);
  Session session(deployment, figures);
  const Session::Seconds& seconds = session.seconds();
  print("  keys: ", bytes_text(static_cast<double>(session.keys().bytes())), " in ",
        seconds_text(seconds.keygen),
        "\n  the server encodes the bootstrap's transforms: ", seconds_text(seconds.server), "\n");
  const attention::ClientModel client = attention::client_model_of(deployment.model, deployment.packing);
  LogitRows rows;
  int bootstraps = 0;
  std::vector<program::SlotVector> clear;
  for (const auto& group : groups_of(prompts, client.packing.prompts)) {
    const bool first = rows.empty();
    const attention::SlotVectors inputs = attention::client_inputs(client, group);
    program::RunOptions options;
    if (first && ledger_file.given()) {
      clear = clear_values(deployment.plan.program, inputs);
      options.observe = [&](size_t, program::Value value, const ckks::Ciphertext& ciphertext) {
        ledger.set_measured(value, session.decrypt(ciphertext), clear[value.id]);
      };
    }
    const program::RunResult result = session.run(session.encrypt(inputs), options);
    const attention::SlotVectors outputs = session.decrypt(result.outputs);
    if (first)
      for (const auto& output : deployment.plan.program.outputs)
        ledger.set_measured(output.value, outputs.at(output.name), twin.outputs.at(output.name));
    append_logits(client, outputs, group, rows);
    bootstraps += deployment.plan.bootstraps;
  }
  print("  encrypted ", counted(prompts.size(), "prompt"), " in ", seconds_text(seconds.encrypt),
        ", inferred in ", seconds_text(seconds.infer), ", decrypted in ", seconds_text(seconds.decrypt),
        "\n");
  figures.predict_seconds();
  figures.fill(ledger);
  print(sum_figures(ledger.summary(), "block").table().text());

  heading("Result");
  const LogitRows scored = scored_rows(codec, prompts, rows),
                  clear_scored = scored_rows(codec, prompts, twin.logits);
  const Comparison comparison = compare_logits(clear_scored, scored, twin.predicted_std);
  double encrypted_accuracy = 0;
  if (codec.is_recall() && prompt.empty()) {
    const train::Batch batch =
        task->recall_task()->test(static_cast<int>(prompt_count), static_cast<uint64_t>(seed) + 1);
    encrypted_accuracy = accuracy(batch, scored);
    print("  prompt 0     ", visible(codec.decode(prompts[0])), "\n");
    std::vector<int> answers, truth;
    for (const int t : codec.scored_positions(context_length)) {
      answers.push_back(argmax(scored[answers.size()]));
      truth.push_back(batch.targets[t]);
    }
    print("  encrypted    ", codec.list(answers), "\n  truth        ", codec.list(truth), "\n");
    print("  recall on ciphertexts: ", percent(encrypted_accuracy), " of ", scored.size(),
          " queries; the polynomial model in the clear: ", percent(scores.polynomial.accuracy()), " of ",
          scores.polynomial.scored, "\n");
  } else {
    const auto next_tokens = [&](const LogitRows& logits) {
      std::vector<int> tokens;
      for (const auto& row : logits) tokens.push_back(argmax(row));
      return codec.list(tokens);
    };
    print("  prompt                              ", visible(codec.decode(prompts[0])), "\n");
    print("  next at each position, encrypted    ", next_tokens(scored), "\n");
    print("  next at each position, in the clear ", next_tokens(clear_scored), "\n");
    print("  //cmd:generate goes on with a text, token by token\n");
  }
  print(comparison.text(twin.predicted_std));
  const double total = seconds_now() - begin;
  print("  time: training ", seconds_text(training_seconds), ", keys ", seconds_text(seconds.keygen),
        ", encryption ", seconds_text(seconds.encrypt), ", inference ", seconds_text(seconds.infer),
        ", decryption ", seconds_text(seconds.decrypt), "; all ", seconds_text(total), "\n");
  Figures run = figures.figures();
  print("  ", counted(static_cast<size_t>(bootstraps), "bootstrap"), "\n", run.lines());
  Json json;
  json["params"] = parameters_json(*deployment.context);
  json["accuracy"]["softmax"] = scores.softmax.accuracy();
  json["accuracy"]["power_softmax"] = scores.trained.accuracy();
  json["accuracy"]["polynomial"] = scores.polynomial.accuracy();
  json["accuracy"]["encrypted"] = codec.is_recall() && prompt.empty() ? Json(encrypted_accuracy) : Json();
  json["accuracy"]["chance"] = task && task->recall_task() ? Json(task->recall_task()->chance()) : Json();
  json["accuracy"]["queries"] = static_cast<int64_t>(scores.polynomial.scored);
  json["scores"] = scores_json(scores);
  json["encrypted_vs_twin"] = comparison.json();
  json["encrypted_vs_twin"]["predicted_std"] = twin.predicted_std;
  json["approximations"] = approximation_figures(deployment.model).json();
  json["ledger"] = sum_figures(ledger.summary(), "block").json();
  json["bootstraps"] = bootstraps;
  json["predicted_and_measured"] = run.object();
  json["seconds"]["train"] = training_seconds;
  json["seconds"]["keygen"] = seconds.keygen;
  json["seconds"]["encrypt"] = seconds.encrypt;
  json["seconds"]["infer"] = seconds.infer;
  json["seconds"]["decrypt"] = seconds.decrypt;
  json["seconds"]["total"] = total;
  json["peak_rss_bytes"] = peak_resident_bytes();
  flags.write_json(json);
  run.row()
      .cell("parameters", deployment.context->describe())
      .cell("seconds", "are of the last pass, measured errors of the first")
      .cell("errors",
            "predicted ones take rounding for independent everywhere; inside 1/x, where one error arrives in "
            "several ways, measured ones are up to four times the predicted ones");
  ledger_file.write({.title = "The ledger of an encrypted run", .figures = run, .ledger = ledger});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::demo, argc, argv); }
