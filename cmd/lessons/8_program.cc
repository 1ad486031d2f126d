// Lesson 8. Transformer blocks as a program in a file: compiled, shown, tampered with,
// verified, and run on ciphertexts. Server and client know their files, and no model.
#include "8_program.h"  // the function to write: of exercises/, or of solutions/

#include <set>

#include "attention/files/checkpoint.h"
#include "ckks/base/error.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/scheme/testing/test_party.h"
#include "cmd/client/client_file.h"
#include "cmd/compiler/compile.h"
#include "cmd/prompts/comparison.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/reports/program_report.h"

using namespace psm::lesson;

// A few of the lines that //cmd:show prints.
void show(const std::string& path) {
  const ShownProgram shown(program::load_program(path), path);
  const program::Ledger& ledger = shown.entries[0].ledger;
  std::set<program::Opcode> seen;
  line("first of its kind", "levels", "error", "operation");
  for (const program::LedgerRow& row : ledger.rows())
    if (seen.insert(row.opcode).second)
      line(row.label,
           message(ledger.plan().argument_level[row.instruction], " -> ", row.level),
           bits(row.predicted_std.value_or(0)), program::name(row.opcode));
}

int main() {
  title("Lesson 8: from blocks to a file, and to an encrypted answer");
  const Checkpoint model = load_checkpoint("testdata/recall.safetensors");
  const std::string name = temporary_path("lesson_8"), path = name + ".program";
  const Context context(insecure_bootstrappable(12));
  say_insecure(context.describe());
  const PackedModel packed(model, context, 1);
  compile_model(packed, model.notes, context, CompiledFor::kPass, name);
  section("The program: two blocks", "Each value has a level, and a predicted error.");
  show(path);
  say("All of it: bazel run //cmd:show -- --program " + path);
  const program::Plan plan = program::load_program(path).file.entries[0].plan;
  const size_t count = plan.program.instructions.size(), middle = count / 2;
  line("instructions, bootstraps", count, plan.bootstraps);
  section("Levels, checked without trusting the author of the file",
          "An honest program keeps the rule; a tampered one is refused, with its place.");
  program::ProgramFile file = program::load_program(path).file;
  program::Plan& wrong = file.entries[0].plan;
  ++wrong.level[plan.program.instructions[middle].results[0].id];
  line("tampered instruction", middle);
  try {
    program::verify(file, context);
  } catch (const Error& refusal) {
    say(std::string("verify: ") + refusal.what());
  }
  with_exercise([&] {
    line("yours: honest, tampered", first_wrong_level(plan), first_wrong_level(wrong));
  });
  section("Recall: which value came after this key? Six of the queries",
          "Twin and ciphertexts answer as the float model does.");
  const ClientFile client = read_client_file(name + ".client");
  TestParty party(client.spec, client.keys);
  const Bootstrappers bootstrappers =
      make_bootstrappers(party.context, party.encoder, program::bootstrap_kinds(plan));
  program::EncryptedMachine server(plan, party.encoder, *party.evaluator, &bootstrappers);
  const PromptCodec codec = codec_of(model.weights.config, model.notes);
  const auto prompts = codec.sample(1, 1);
  const SlotVectors inputs = client_inputs(client.model, prompts);
  std::map<std::string, Ciphertext> encrypted;
  for (const PlanEnd& end : client.entries[0].inputs)
    encrypted[end.name] = party.encrypt(inputs.at(end.name), end.level);
  SlotVectors outputs;
  for (const auto& [output, c] : server.run(encrypted).outputs)
    outputs[output] = party.decrypt(c);
  const auto twin = run_twin(plan.program, inputs).outputs;
  const std::vector<double> logits[] = {
      reference_forward(model.weights, prompts[0]).logits,
      client_logits(client.model, twin, prompts)[0],
      client_logits(client.model, outputs, prompts)[0],
  };
  row("key", std::vector<std::string>{"truth", "float", "twin", "ciphertext"}, 12);
  int right[3] = {}, queries = 0;
  for (int t : codec.scored_positions(client.model.shape.context)) {
    std::vector<std::string> said{codec.symbol(prompts[0][t + 1])};
    for (int i = 0; i < 3; ++i) {
      const size_t vocab = client.model.shape.vocab;
      said.push_back(
          codec.symbol(argmax(std::span(logits[i]).subspan(t * vocab, vocab))));
      right[i] += said.back() == said[0];
    }
    if (queries++ < 6) row(codec.symbol(prompts[0][t]), said, 12);
  }
  line("right answers", queries, right[0], right[1], right[2]);
  const Comparison apart = compare_logits({logits + 1, 1}, {logits + 2, 1}, 0);
  line("logits: ciphertext to twin", bits(apart.relative_rms()));
}
