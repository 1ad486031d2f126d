// A compiled program in the clear, as the child of a client that asks (cmd/client/twin_process.h).
#include "ckks/program/machines/twin.h"

#include <unistd.h>

#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/verify/verify.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/client/twin_process.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 32;

int twin(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:encrypt -- --check PROGRAM ...",
      "The twin: runs a compiled program on slots in the clear, with the same levels and range checks as on\n"
      "ciphertexts. //cmd:encrypt and //cmd:decrypt start it where --check names a program.");
  const std::string& program_path = flags.text("program", "", "the program (NAME.program of //cmd:compile)");
  const bool& pipe =
      flags.truth("pipe", false, "slots come from standard input, answers go to standard output");
  const ThreadsFlag threads(flags);
  flags.parse(argc, argv);
  threads.apply();
  require_given(flags, {"program"});
  if (!pipe)
    throw Error("the twin talks to a client through pipes; give --check PROGRAM to encrypt or decrypt");
  const auto fails = [](const Error& error) {
    send_bytes(STDOUT_FILENO, message("-", error.what()));
    return error.exit_code();
  };
  try {
    const program::VerifiedProgram program = program::load_program(resolve_user_path(program_path));
    const program::Plan& plan = program.file.entry(kPass).plan;
    const ckks::NoiseModel noise(*program.context);
    const double bootstrap_error =
        plan.bootstraps > 0 ? ckks::predict_error(ckks::BootstrapPlan(*program.context)).rms() : 0;
    send_bytes(STDOUT_FILENO, "+" + std::to_string(program.file.id()));
    for (std::string request; receive_bytes(STDIN_FILENO, request, kMostBytes);) {
      if (request.empty()) throw Error("a request without slots");
      const attention::SlotVectors inputs = unpack_slots(request.substr(1));
      const program::TwinResult clear = program::run_twin(plan.program, inputs);
      send_bytes(STDOUT_FILENO, "+" + pack_slots(clear.outputs));
      if (request[0] != 'n') continue;
      program::TwinOptions options;
      options.on_range = program::TwinOptions::OnRange::kCount;
      options.noise_std = program::predicted_noise(plan, noise, bootstrap_error, clear.observations);
      send_bytes(STDOUT_FILENO, "+" + pack_slots(program::run_twin(plan.program, inputs, options).outputs));
    }
  } catch (const Error& error) {
    return fails(error);
  }
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::twin(argc, argv); });
}
