// A short run of encrypted generation with test keys, kept so that others can check it: //cmd:replay.
#include <cstdio>
#include <filesystem>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/interruption.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/random.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/wire/client/secret_key_file.h"
#include "cmd/client/client_file.h"
#include "cmd/client/new_keys.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_twin.h"
#include "cmd/generation/server/recording.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/run_digests.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

int record(int argc, char** argv) {
  Command flags("bazel run //cmd:record -- --client FILE --program FILE --prompt TEXT --out FOLDER [flags]",
                "Generates a few tokens on ciphertexts with keys made for this record, and keeps what others "
                "need to check it: the program, the keys (the secret one too: it is a test key, and is "
                "published), every request and answer, and a digest of what every instruction made. "
                "//cmd:replay computes it again and names the first difference.",
                Command::Writes::kNothing);
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile --for text)");
  const std::string& program_path = flags.text("program", "", "the program compiled with it");
  const std::string& prompt = flags.text("prompt", "", "the text to go on with");
  const std::string& out =
      flags.output("out", "folder for the record; it must not be there", Flags::Output::kFolder);
  const int64_t& tokens = flags.integer("tokens", 3, 1, 1024, "tokens to generate");
  const FileRingFlags ring(flags);
  flags.begin(argc, argv, {"client", "program", "prompt", "out"});

  namespace fs = std::filesystem;
  const fs::path folder = resolve_user_path(out);
  const std::string taken = message(out, " is there already; a record gets a folder of its own");
  if (fs::exists(folder)) throw Error(taken);
  const TextModel model(read_client_file(resolve_user_path(client_path)));
  const PromptCodec codec = codec_of_form(model.file.prompts, model.file.model.shape, client_path);
  const std::vector<int> begun = codec.encode(prompt);
  const int places = model.tokens;
  if (begun.empty() || static_cast<int64_t>(begun.size()) + tokens - 1 > places)
    throw Error(message("a prompt of ", begun.size(), " tokens and ", tokens, " more do not fit the ", places,
                        " places of the model; shorten the prompt, or give a smaller --tokens"));
  const TextProgram program(program::load_program(resolve_user_path(program_path)));
  const ckks::Context& context = *model.context;
  ring.require_security(context);
  if (!program.weights.empty())
    throw Error("a record holds all that a server reads; compile with --for text");
  TextTwin(program_path, model).after(begun, /*predict=*/false, /*strict=*/true);

  const KeyFiles files((folder / "keys").string());
  if (!fs::create_directories(folder)) throw Error(taken);
  fs::create_directory(folder / "keys");
  const InterruptionWatch watch;
  try {
    const NewKeys made = make_key_files(files, context, program.keys);
    print(made.text(context, program.keys));
    const std::string copy = (folder / "text.program").string();
    fs::copy_file(resolve_user_path(program_path), copy);
    const ckks::SecretKey secret = wire::read_secret_key(files.secret, context);

    Recording recording{.program = program.id,
                        .parameters = context.fingerprint(),
                        .keys = secret.fingerprint().key,
                        .program_file = file_digest(copy),
                        .evaluation_keys = file_digest(files.evaluation),
                        .made_with = message(ckks::kernels().name, ", ", thread_count(), " threads"),
                        .text = "",
                        .runs = {}};
    TextServer server(program, files.evaluation, "");
    RunDigests digests;
    server.keep_digests(digests);
    DirectChannel channel(server, [&](const Frame& request, const Frame& answer) {
      if (answer.kind != FrameKind::kAnswer) return;
      const std::string number = std::to_string(recording.runs.size());
      const std::string sent = (folder / ("request-" + number)).string(),
                        got = (folder / ("answer-" + number)).string();
      write_file(sent, request.payload);
      write_file(got, answer.payload);
      recording.runs.push_back({request.kind, file_digest(sent), file_digest(got), digests.take()});
    });
    TextRecord text{.text = fresh_identifier(),
                    .program = program.id,
                    .keys = secret.fingerprint().key,
                    .prompt = static_cast<int>(begun.size()),
                    .tokens = begun};
    const TextFolder nowhere("");
    TextClient client(model, secret, channel, text, nowhere);
    for (int64_t i = 0; i < tokens; ++i) {
      stop_if_interrupted("no record was kept");
      const TextClient::Step step = client.next();
      std::printf("  token %-4d '%s' %s\n", step.position, codec.symbol(step.token).c_str(),
                  seconds_text(step.seconds).c_str());
      std::fflush(stdout);
    }
    recording.text = codec.decode(std::span(text.tokens).subspan(begun.size()));
    write_file((folder / "record.json").string(), recording.json());
    size_t instructions = 0;
    for (const RecordedRun& run : recording.runs) instructions += run.digests.size();
    print(context.describe(), "\ntext: ", visible(recording.text), "\nrecorded ",
          counted(recording.runs.size(), "run"), " of ", instructions, " instructions in ", out,
          ", with a secret key that is a test key and published there;\ncheck it with bazel run //cmd:replay "
          "-- --record ",
          out, ring.insecure ? " --insecure" : "", "\n");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);  // half a record is useless
    throw;
  }
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::record, argc, argv); }
