// A compiled program in the clear, as the child of a client that asks (cmd/client/twin_process.h).
#include "ckks/program/machines/twin.h"

#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/verify/verify.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/client/twin_process.h"
#include "cmd/generation/text_ends.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

// A program, and what it keeps from run to run: once exact, once with the predicted errors.
class Twin {
 public:
  explicit Twin(program::VerifiedProgram program) : program_(std::move(program)), noise_(*program_.context) {}
  uint64_t id() const { return program_.file.id(); }

  // `send`: takes the outputs, once or twice.
  void answer(TwinMessage request, const std::function<void(const attention::SlotVectors&)>& send) {
    if (request.shares) {
      shared_ = std::move(request.slots);
      return send({});
    }
    const program::EntryPoint& entry = program_.file.entry(request.entry);
    const program::Plan& plan = entry.plan;
    const program::Program own = program::with_constants(plan.program, entry.constants(request.argument));
    const bool begins = request.entry == kToken && request.argument == 0;
    program::TwinOptions options;
    if (!request.strict) options.on_range = program::TwinOptions::OnRange::kCount;
    const program::TwinResult clear =
        program::run_twin(own, inputs_of_run(plan.program, request.slots, exact_, begins), options);
    if (request.noisy) {
      const auto [bootstrap, is_new] = bootstrap_errors_.try_emplace(request.entry);
      if (is_new) bootstrap->second = program::bootstrap_errors(plan, *program_.context);
      options.on_range = program::TwinOptions::OnRange::kCount;
      options.noise_std =
          program::predicted_noise(plan, noise_, bootstrap->second.rounding, clear.observations).own;
      options.bootstrap_error = bootstrap->second.follows;
      options.noise_seed = ++runs_;
      for (const auto& [name, value] : plan.program.inputs)  // what was kept comes with its error
        if (!request.slots.contains(name) && !shared_.contains(name)) options.noise_std[value.id] = 0;
      attention::SlotVectors noisy =
          program::run_twin(own, inputs_of_run(plan.program, request.slots, noisy_, begins), options).outputs;
      // What goes on repeats, its error too: no slot meets another repetition's.
      for (const auto& [name, value] : plan.program.outputs) {
        std::vector<std::complex<double>>& slots = noisy.at(name);
        const size_t period = plan.program.values[value.id].period;
        for (size_t s = period; s < slots.size(); ++s) slots[s] = slots[s % period];
      }
      noisy_ = std::move(noisy);
    }
    if (!request.noisy) noisy_.clear();
    exact_ = clear.outputs;
    send(own_outputs(exact_));
    if (request.noisy) send(own_outputs(noisy_));
  }

 private:
  attention::SlotVectors inputs_of_run(const program::Program& program, const attention::SlotVectors& given,
                                       const attention::SlotVectors& kept, bool begins) const {
    attention::SlotVectors inputs;
    for (const auto& [name, value] : program.inputs) {
      std::vector<std::complex<double>>& slots = inputs[name];
      if (const auto own = given.find(name); own != given.end()) {
        slots = own->second;
      } else if (const auto weight = shared_.find(name); weight != shared_.end() && !weight->second.empty()) {
        slots.resize(program.slots);
        for (size_t s = 0; s < slots.size(); ++s) slots[s] = weight->second[s % weight->second.size()];
      } else if (const auto before = kept.find(name); before != kept.end() && !begins) {
        slots = before->second;
      } else if (begins) {
        slots.resize(program.slots);
      } else {
        throw Error(message("the twin was not given the input '", name, "'"));
      }
    }
    return inputs;
  }

  // Without those that the next token takes.
  attention::SlotVectors own_outputs(attention::SlotVectors outputs) const {
    for (const program::EntryPoint& entry : program_.file.entries)
      if (entry.name == kToken)
        for (const program::NamedValue& input : entry.plan.program.inputs) outputs.erase(input.name);
    return outputs;
  }

  const program::VerifiedProgram program_;
  const ckks::NoiseModel noise_;
  std::map<std::string, program::BootstrapErrors> bootstrap_errors_;  // by entry point
  attention::SlotVectors shared_, exact_, noisy_;
  uint64_t runs_ = 0;
};

int twin(int argc, char** argv) {
  Command flags("bazel run //cmd:encrypt -- --check PROGRAM ...",
                "The twin: runs a compiled program on slots in the clear, with the same levels and range "
                "checks as on ciphertexts. //cmd:encrypt starts it where --check names a program; "
                "//cmd:compare and //cmd:generate do too.",
                Command::Writes::kNothing);
  const std::string& program_path = flags.text("program", "", "the program (NAME.program of //cmd:compile)");
  flags.begin(argc, argv, {"program"});
  if (!is_pipe(STDIN_FILENO))
    throw Error("the twin talks to a client through pipes; give --check PROGRAM to encrypt, or run compare");
  FrameChannel client(STDIN_FILENO, STDOUT_FILENO, "the client");
  try {
    Twin twin(program::load_program(resolve_user_path(program_path)));
    client.send(FrameKind::kReady, std::to_string(twin.id()));
    while (const std::optional<Frame> request = client.receive(kMostTwinBytes))
      twin.answer(wire::from_bytes<TwinMessage>(request->payload, "a message"),
                  [&](const attention::SlotVectors& slots) {
                    client.send(FrameKind::kAnswer, wire::to_bytes(TwinMessage{.slots = slots}));
                  });
  } catch (const Error& error) {
    client.send(FrameKind::kRefused, error.what());
    return error.exit_code();
  }
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::twin, argc, argv); }
