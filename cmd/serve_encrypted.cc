// The server of a text whose model it does not know either: computes with weights that are ciphertexts, on
// ciphertexts, with public keys only. It links nothing that reads a model, and no secret key.
#include "ckks/base/files/flags.h"
#include "cmd/generation/pipe_server.h"
#include "cmd/generation/weight_file.h"

namespace psm::cmd {
namespace {

void serve(int argc, char** argv, FrameChannel& client) {
  Flags flags(
      "serve_encrypted --weights FILE --keys FILE [flags]",
      "The server's side of //cmd:generate --encrypted-weights, which starts it: reads a model's weights as\n"
      "ciphertexts and evaluation.keys, both of one owner, then encrypted tokens from standard input, and "
      "writes\n"
      "encrypted answers to standard output (cmd/generation/frames.h). Of the model it knows the shape and "
      "the\n"
      "intervals of its polynomials. Keys and values of the text so far stay with it, encrypted; with "
      "--state they\n"
      "also stay in a folder after every token, and a server that was killed goes on from there.");
  const std::string& weights = flags.text("weights", "", "encrypted weights (weights.ct of //cmd:generate)");
  ServerFlags server(flags);
  flags.parse(argc, argv);
  require_given(flags, {"weights", "keys"});
  server.apply();
  const std::shared_ptr<const ckks::Context> context = server.context();
  const std::string path = resolve_user_path(weights);
  wire::CiphertextReader file(path, *context, kMaxWeights);
  const WeightNote note = WeightNote::parse(file.note(), path);
  const GenerationPlans plans(context, note.id, note.outline);
  server.serve(plans, client, [&](ckks::Fingerprint keys) {
    require_weights(file, note, plans, keys, path);
    return read_weights(file, note);
  });
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::cmd::run_server([&](psm::cmd::FrameChannel& client) { psm::cmd::serve(argc, argv, client); });
}
