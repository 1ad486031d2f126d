// The server of a text that is generated encrypted: computes on ciphertexts with public keys only. It links
// no secret key.
#include "ckks/base/files/flags.h"
#include "cmd/generation/model/generation_deployment.h"
#include "cmd/generation/pipe_server.h"

namespace psm::cmd {
namespace {

void serve(int argc, char** argv, FrameChannel& client) {
  Flags flags(
      "serve --model MODEL --keys FILE [flags]",
      "The server's side of //cmd:generate, which starts it: reads a polynomial\n"
      "model and evaluation.keys, then encrypted prompts and tokens from standard input, and writes "
      "encrypted\n"
      "answers to standard output (cmd/generation/frames.h). It holds no secret key. Keys and values of the\n"
      "text so far stay with it, encrypted; with --state they also stay in a folder after every token, and "
      "a\n"
      "server that was killed goes on from there.");
  const std::string& model = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  ServerFlags server(flags);
  flags.parse(argc, argv);
  require_given(flags, {"model", "keys"});
  server.apply();
  // The plans have all of the model that the server needs; the rest of it goes when they are made.
  const GenerationPlans plans = [&]() -> GenerationPlans {
    return GenerationDeployment(attention::load_checkpoint(resolve_user_path(model)), server.context());
  }();
  server.serve(plans, client);
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::cmd::run_server([&](psm::cmd::FrameChannel& client) { psm::cmd::serve(argc, argv, client); });
}
