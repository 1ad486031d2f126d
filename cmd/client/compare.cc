// What the program in the clear makes of prompts, for who has it: whether they stay inside its ranges, and how close decrypted
// logits are to its own. It holds no key.
#include <cmath>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/client/client_file.h"
#include "cmd/client/twin_process.h"
#include "cmd/prompts/comparison.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/notes.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

int compare(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:compare -- --client FILE --program FILE [--logits FILE] (--prompt TEXT | --prompts "
      "FILE | --sample N)",
      "Runs the program in the clear on the prompts. Fails where a value leaves its range, which "
      "//cmd:encrypt --check asks. With --logits (from //cmd:decrypt) it prints how close they are, and "
      "fails where they are too far to be the answers to these prompts. What it prints must not be shown to "
      "others.");
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile)");
  const std::string& program = flags.text("program", "", "the program that was compiled with it");
  const std::string& logits_path = flags.text("logits", "", "decrypted logits (from //cmd:decrypt)");
  const PromptFlags prompt_flags(flags);
  flags.begin(argc, argv, {"client", "program"});

  const ClientFile client = read_client_file(resolve_user_path(client_path));
  const PromptCodec codec = codec_of_form(client.prompts, client.model.shape, client_path);
  std::vector<std::vector<int>> prompts = prompt_flags.read(codec, longest_prompt(client.model.shape));
  const bool compares = !logits_path.empty();
  LogitRows logits;
  if (compares) {
    logits = read_logits(resolve_user_path(logits_path), client.program_id());
    size_t rows = 0, answered = 0;  // a run that stopped early has answered the first ones
    while (answered < prompts.size() && rows < logits.size())
      rows += static_cast<size_t>(codec.answers().rows(static_cast<int>(prompts[answered++].size())));
    if (rows != logits.size())
      throw Error(message("these are not the prompts that ", logits_path, " answers: other lengths"));
    prompts.resize(answered);
    for (const std::vector<double>& row : logits)
      if (row.size() != static_cast<size_t>(client.model.shape.logit_count()))
        throw Error(message(logits_path, " has rows of ", row.size(), " logits, the model ",
                            client.model.shape.logit_count()));
  }
  const double start = seconds_now();
  TwinProcess process(program, client.program_id(), flags.threads());
  LogitRows twin, noisy;  // noisy ones of one group alone, which tells the deviation
  for (const auto& group : groups_of(prompts, client.model.packing.prompts)) {
    const bool predicts = compares && noisy.empty();
    const TwinProcess::Outputs outputs = process.run(
        {.entry = kPass,
         .noisy = predicts,
         .slots = attention::client_inputs(client.model, PromptExamples(client.model.shape, group))});
    if (compares) append_logits(client.model, outputs.clear, group, twin);
    if (predicts) append_logits(client.model, outputs.noisy, group, noisy);
  }
  if (!compares) {
    print("their values stay inside the ranges of ", program, "; checked in ",
          seconds_text(seconds_now() - start), "\n");
    return 0;
  }
  // The deviation of an encrypted logit: the program was run once more with the error of every instruction.
  const double predicted_std = rms_difference(noisy, twin);
  const Comparison c =
      compare_logits(scored_rows(codec, prompts, twin), scored_rows(codec, prompts, logits), predicted_std);
  print(c.text(predicted_std));
  flags.write_json(Json::Object{{"encrypted_vs_twin", c.json()}});
  // The encryption does not make an error so many times the predicted one.
  constexpr double kFar = 100;
  if (const double measured = std::sqrt(c.mse); !(measured <= kFar * predicted_std))
    throw Error(message("the answers are not those of these prompts: their logits are ",
                        format("%.3g", measured), " from the twin's where ", format("%.3g", predicted_std),
                        " is predicted; other prompts were encrypted, or in another order, or the server ran "
                        "something else"),
                Error::Kind::kFailed);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::compare, argc, argv); }
