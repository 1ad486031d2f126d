// Lesson 6. Transformer blocks on ciphertexts, with the ledger and the answers.
#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/errors/ledger.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/testing/test_machine.h"
#include "cmd/lessons/blackboard.h"
#include "cmd/prompts/comparison.h"
#include "cmd/prompts/prompts.h"

using namespace psm::lesson;

int main() {
  title("Lesson 6: transformer blocks on ciphertexts");
  const Context context(insecure_bootstrappable(12));
  say_insecure(context.describe());

  // A trained model of two blocks, and the polynomials for the ranges of its values.
  const Checkpoint file = load_checkpoint("testdata/recall.safetensors");
  const ModelConfig& config = file.weights.config;
  const auto model = make_polynomial(file.weights, *file.ranges, *file.polynomial);

  // Its slot program, planned, with the keys that the plan asks for.
  const Packing packing = make_packing(config, config.context, context.slots());
  program::TestMachine machine(context.spec(), build_program(model, packing));
  const program::Plan& plan = machine.plan_;

  // The client packs a prompt. The twin sees it; the machine sees ciphertexts.
  const PromptCodec codec(file.weights.config, file.notes);
  const auto prompts = codec.sample(1, 1);
  const SlotVectors inputs = client_inputs(model, packing, prompts);
  const program::TwinResult twin = run_twin(plan.program, inputs);
  const program::RunResult run = machine.machine->run(machine.encrypt(inputs));

  // The ledger: ranges from the twin, errors from the noise model, one of them measured.
  const NoiseModel noise(context);
  const double bootstrap = predict_error(BootstrapPlan(context)).rms();
  const auto own = predicted_noise(plan, noise, bootstrap, twin.observations);
  program::Ledger ledger(plan, context.scales());
  ledger.set_ranges(twin.observations);
  const auto accumulated = accumulated_noise(plan, noise, own, twin.observations);
  ledger.set_predicted_errors(own, accumulated);
  ledger.set_seconds(run.seconds);
  SlotVectors outputs;
  for (const auto& [name, value] : plan.program.outputs) {
    outputs[name] = machine.party.decrypt(run.outputs.at(name));
    ledger.set_measured(value, outputs[name], twin.outputs.at(name));
  }
  section("The ledger",
          "What each part of the blocks costs, how large its values are, and how exact.");
  std::printf("%s", program::text(ledger.summary()).c_str());
  section("Recall: which value came after this key? Six of the queries",
          "Polynomials, twin and ciphertexts answer as the float model does.");
  const std::vector<double> logits[] = {
      reference_forward(file.weights, prompts[0]).logits,
      polynomial_forward(model, prompts[0]).logits,
      client_logits(model, packing, twin.outputs, prompts)[0],
      client_logits(model, packing, outputs, prompts)[0],
  };
  line("key", "truth", "float", "polynomial", "twin", "ciphertext");
  int right[4] = {}, queries = 0;
  for (int t : codec.scored_positions(config.context)) {
    std::string said[4];
    for (int i = 0; i < 4; ++i) {
      const auto at = std::span(logits[i]).subspan(t * config.vocab, config.vocab);
      said[i] = codec.symbol(argmax(at));
      right[i] += argmax(at) == prompts[0][t + 1];
    }
    if (++queries > 6) continue;
    const std::string key = codec.symbol(prompts[0][t]);
    line(key, codec.symbol(prompts[0][t + 1]), said[0], said[1], said[2], said[3]);
  }
  line("right answers", queries, right[0], right[1], right[2], right[3]);
  const auto apart = [&](int i) {  // over all positions and symbols at once
    return bits(compare_logits({logits + i - 1, 1}, {logits + i, 1}, 0).relative_rms);
  };
  line("logits, to the column before", "", "", apart(1), apart(2), apart(3));
}
