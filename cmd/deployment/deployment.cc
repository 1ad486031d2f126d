#include "cmd/deployment/deployment.h"

#include <numeric>
#include <utility>

#include "ckks/base/progress.h"
#include "ckks/base/touched_memory.h"
#include "cmd/client/encoding.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/temporary_folder.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

PlannedPass compiled(const PackedModel& model, const attention::Checkpoint& checkpoint,
                     const ckks::Context& context) {
  const TemporaryFolder folder;
  const std::string name = folder.path() + "/model";
  compile_model(model, checkpoint.notes, context, CompiledFor::kPass, name, false);
  return PlannedPass(program::load_program(name + ".program"));
}

}  // namespace

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& own)
    : PackedModel(checkpoint, own), PlannedPass(compiled(*this, checkpoint, own)) {}

TwinPrediction run_twin_on(const Deployment& deployment, const std::vector<std::vector<int>>& prompts) {
  const attention::ClientModel client = attention::client_model_of(deployment.model, deployment.packing);
  const program::Plan& plan = deployment.plan;
  TwinPrediction run;
  for (const auto& group : groups_of(prompts, deployment.packing.prompts)) {
    const PromptExamples examples(deployment.model.weights.config, group);
    const attention::SlotVectors inputs = attention::client_inputs(client, examples);
    if (run.logits.empty()) {  // one group tells the deviation
      run = predict(plan, plan.program, *deployment.context, client, examples, inputs,
                    program::TwinOptions::OnRange::kThrow);
    } else {
      append_logits(client, program::run_twin(plan.program, inputs).outputs, examples, run.logits);
    }
  }
  return run;
}

Session::Session(const PlannedPass& pass, RunFigures& figures, std::unique_ptr<const ckks::Engine> device)
    : d_(pass),
      figures_(figures),
      encoder_(*d_.context),
      secret_(ckks::SecretKey::generate(*d_.context)),
      generator_(secret_),
      public_key_(generator_.public_key()),
      encryptor_(*d_.context, public_key_),
      decryptor_(secret_) {
  const double begin = seconds_now();
  {
    TouchedMemory memory(device ? 0 : static_cast<size_t>(d_.reading.run_bytes()));
    Progress progress("generating keys", static_cast<double>(d_.keys.keys(d_.context->chain()).size()));
    keys_ = generator_.evaluation_keys(d_.keys, [&] { progress.advance(); });
    figures_.touched(memory.finish());
  }
  const double made = seconds_now();
  server_ = std::make_unique<Server>(d_, keys_, std::move(device));
  seconds_.keygen = made - begin;
  seconds_.server = seconds_now() - made;
  figures_.prepared(seconds_.server);
}

Session::Ciphertexts Session::encrypt(const attention::SlotVectors& inputs) {
  const double begin = seconds_now();
  const std::vector<PlanEnd> ends = d_.ends().inputs;
  const std::vector<ckks::Plaintext> encoded = encode_inputs(encoder_, ends, inputs);
  Ciphertexts encrypted;
  for (size_t i = 0; i < encoded.size(); ++i) encrypted.emplace(ends[i].name, encryptor_.encrypt(encoded[i]));
  seconds_.encrypt += seconds_now() - begin;
  return encrypted;
}

program::RunResult Session::run(const Ciphertexts& inputs, program::RunOptions options) {
  Progress progress("inferring on ciphertexts", static_cast<double>(d_.plan.program.instructions.size()));
  options.progress = [&progress, also = std::move(options.progress)](size_t done, size_t total) {
    if (also) also(done, total);
    progress.set(static_cast<double>(done));
  };
  program::RunResult result = server_->run(inputs, options);
  figures_.add_pass(result);
  seconds_.infer += std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0);
  return result;
}

attention::SlotVectors Session::decrypt(const Ciphertexts& outputs) {
  const double begin = seconds_now();
  attention::SlotVectors out;
  for (const auto& [name, ciphertext] : outputs) out.emplace(name, decrypt(ciphertext));
  seconds_.decrypt += seconds_now() - begin;
  return out;
}

double Session::bootstrap_seconds() {
  const program::SlotVector slots(static_cast<size_t>(d_.context->slots()), ckks::Complex(0.5, -0.25));
  const ckks::Ciphertext value = encryptor_.encrypt(encoder_.encode(slots, d_.context->entry_level()));
  const double begin = seconds_now();
  server_->bootstrap(value);
  return seconds_now() - begin;
}

}  // namespace psm::cmd
