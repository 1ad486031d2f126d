// For tests of compiler, client and server as commands: a small model of random weights, and a ring that offers no
// security.
#pragma once

#include <string>

#include "attention/files/checkpoint.h"
#include "attention/trained/measure.h"
#include "ckks/base/testing/check.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/testing/test_commands.h"

namespace psm::cmd {

const std::string kRing = " --insecure --log-n 11";

// Writes NAME.program and NAME.client in the test's folder.
inline void compile(const std::string& model, const std::string& name, const std::string& ring = kRing) {
  must_run("compile --model " + model + " --out " + path_of(name) + ring);
}

struct SmallModel {
  int layers = 2;
  double denominators = 1;  // scales the upper end of the intervals of 1/x: below 1 they are too narrow
};

// Writes a recall model of random weights whose ranges were measured on the test's prompts.
inline void make_model(const std::string& path, uint64_t seed, const SmallModel& small = {}) {
  nn::RecallOptions task;
  task.keys = 4, task.values = 4, task.pairs = 2, task.length = 16;
  attention::ModelConfig config;
  config.vocab = 8, config.context = 16, config.layers = small.layers, config.width = 16, config.heads = 2,
  config.ffn = 16;
  config.rotary_fraction = 0.5, config.rotary_base = 20, config.epsilon = 0.2;
  const PromptCodec codec(task);
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(config, seed);
  checkpoint.ranges = attention::measure_ranges(checkpoint.weights, codec.sample(64, 1));
  for (attention::LayerRanges& layer : checkpoint.ranges->layers) {
    layer.denominator.hi =
        layer.denominator.lo + small.denominators * (layer.denominator.hi - layer.denominator.lo);
  }
  checkpoint.polynomial = attention::PolynomialOptions{.margin = attention::kMargin};
  write_notes(codec, checkpoint.notes, checkpoint.weights.config);
  attention::save_checkpoint(path, checkpoint);
}

// A model of make_model(), what was compiled of it, and keys: files that make_pipeline() makes once in a test.
const std::string kModel = path_of("model.safetensors"), kProgram = path_of("model.program"),
                  kClient = path_of("model.client"), kKeys = path_of("keys");

inline void make_pipeline() {
  if (std::filesystem::exists(kKeys)) return;
  make_model(kModel, 1);
  compile(kModel, "model");
  must_run("keygen --client " + kClient + " --out " + kKeys + " --insecure");
}

// Flags of encrypt and decrypt; and of infer, from and to files of the test's folder.
inline std::string client_flags(const std::string& keys = kKeys) {
  return "--client " + kClient + " --keys " + keys + " --insecure ";
}
inline std::string infer_flags(const std::string& in, const std::string& out,
                               const std::string& keys = kKeys + "/evaluation.keys",
                               const std::string& program = kProgram) {
  return "--program " + program + " --keys " + keys + " --in " + path_of(in) + " --out " + path_of(out) +
         " --insecure ";
}

// Decrypts, and compares all logits with those of the program in the clear on these prompts. The answers are in the test's
// file "answers.json", the comparison in "compared.json".
inline Outcome decrypt_and_compare(const std::string& decrypt, const std::string& client,
                                   const std::string& program, const std::string& prompts) {
  const std::string logits = path_of("logits");
  std::filesystem::remove(logits);
  const Outcome decrypted =
      must_run("decrypt " + decrypt + " --logits " + logits + " --json " + path_of("answers.json"));
  CHECK(contains(decrypted.out, "Do not share decrypted values"));
  Outcome compared = run_command_line("compare --client " + client + " --program " + program + " --logits " +
                                      logits + " " + prompts + " --json " + path_of("compared.json"));
  compared.out = decrypted.out + compared.out;
  compared.err = decrypted.err + compared.err;
  return compared;
}

// The comparison of decrypt_and_compare().
inline Json comparison() { return json_in("compared.json").at("encrypted_vs_twin", "json"); }

// The same where the logits must be those of the program. Chance cannot reach this bound: thousands of predicted deviations
// (ckks/base/testing/chance.h).
inline Json must_agree(const std::string& decrypt, const std::string& client, const std::string& program,
                       const std::string& prompts, double bound = 0x1p-7) {
  const Outcome compared = decrypt_and_compare(decrypt, client, program, prompts);
  REQUIRE_MESSAGE(compared.exit_code == 0, compared.err);
  const Json found = comparison();
  CHECK(found.at("relative_rms", "json").number("relative_rms") < bound);
  CHECK(found.at("relative_rms", "json").number("relative_rms") > 0);
  return found;
}

// The same of the answers to these prompts, through all processes, by the test's NAME.program and NAME.client.
// The server writes its figures to NAME.json.
inline Json answer_and_compare(const std::string& name, const std::string& keys, const std::string& prompts,
                               double bound = 0x1p-7) {
  const std::string file = path_of(name), client = file + ".client", program = file + ".program",
                    with = "--client " + client + " --keys " + keys + " --insecure ";
  must_run("encrypt " + with + prompts + " --check " + program + " --out " + file + ".ct");
  must_run("infer " + infer_flags(name + ".ct", name + ".answers", keys + "/evaluation.keys", program) +
           "--json " + file + ".json");
  return must_agree(with + "--in " + file + ".answers", client, program, prompts, bound);
}

}  // namespace psm::cmd
