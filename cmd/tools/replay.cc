// Computes a record of //cmd:record again and names the first difference.
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/generation/server/recording.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device.h"
#include "cmd/server/memory_flag.h"
#include "cmd/server/run_digests.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxRecord = uint64_t{1} << 28;

struct Difference {
  size_t run, instruction;
  uint64_t here, recorded;
};

// The largest difference between two answers, decrypted with the record's own key.
double apart(const std::string& here, const std::string& recorded, const ckks::Context& context,
             const ckks::Decryptor& decryptor) {
  const auto open = [&](const std::string& bytes, const char* name) {
    return wire::CiphertextReader(ByteSource(name, bytes), context, kMaxCiphertexts);
  };
  wire::CiphertextReader ours = open(here, "the answer"), theirs = open(recorded, "the recorded answer");
  if (ours.heads().size() != theirs.heads().size())
    throw Error("the recorded answer has another number of ciphertexts");
  double worst = 0;
  for (size_t i = 0; i < ours.heads().size(); ++i) {
    const auto a = decryptor.decrypt(ours.load(i)), b = decryptor.decrypt(theirs.load(i));
    for (size_t s = 0; s < a.size(); ++s) worst = std::max(worst, std::abs(a[s] - b[s]));
  }
  return worst;
}

int replay(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:replay -- --record FOLDER [flags]",
      "Computes a record of //cmd:record again, instruction by instruction. If every result has the bits "
      "that were recorded it exits with 0; else it names the first that differs and exits with 1.");
  const std::string& record_path = flags.text("record", "", "folder of the record");
  const FileRingFlags ring(flags);
  const DeviceFlag device_flag(flags);
  flags.begin(argc, argv, {"record"});
  const std::unique_ptr<ckks::Device> device = device_flag.open();

  const std::filesystem::path folder = resolve_user_path(record_path);
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  const Recording recording =
      Recording::parse(read_file(path("record.json"), kMaxRecord), path("record.json"));
  const KeyFiles files(path("keys"));
  const auto require_same = [](const std::string& file, const std::string& digest) {
    if (file_digest(file) != digest) throw Error(message(file, " is not the file that was recorded"));
  };
  const std::string program_path = path("text.program");
  require_same(program_path, recording.program_file);
  require_same(files.evaluation, recording.evaluation_keys);

  const TextProgram program(program::load_program(program_path));
  const std::shared_ptr<const ckks::Context>& context = program.context;
  ring.require_security(*context);
  if (program.id != recording.program || context->fingerprint() != recording.parameters)
    throw Error(message(path("record.json"), " is of another program or other parameters than its files"));
  if (wire::EvaluationKeysReader(files.evaluation, *context).fingerprint().key != recording.keys)
    throw Error(message(path("record.json"), " is of another key pair than its files"));
  const size_t bytes = program.server_bytes(device != nullptr);
  require_memory(bytes);
  DeviceFlag::require_room(device.get(), bytes);

  TextServer server(program, files.evaluation, "", engine_on(device.get(), *context));
  RunDigests digests;
  server.keep_digests(digests);
  std::optional<Difference> first;
  std::string answer;
  size_t instructions = 0;
  for (size_t i = 0; i < recording.runs.size(); ++i) {
    const RecordedRun& run = recording.runs[i];
    const std::string request = path(message("request-", i));
    require_same(request, run.request);
    require_same(path(message("answer-", i)), run.answer);
    answer = server.reply({run.kind, read_file(request, kMaxRecord)}).payload;
    const std::vector<uint64_t> here = digests.take();
    if (here.size() != run.digests.size())
      throw Error(message("run ", i + 1, " has ", here.size(), " instructions here and ", run.digests.size(),
                          " in the record; it was made by another version of this program"),
                  Error::Kind::kFailed);
    for (size_t k = 0; k < here.size() && !first; ++k)
      if (here[k] != run.digests[k]) first = Difference{i, k, here[k], run.digests[k]};
    instructions += here.size();
    print("  run ", i + 1, " of ", recording.runs.size(), ", ",
          run.kind == FrameKind::kPrompt ? "a prompt" : "a token", ": ",
          first ? "other bits" : "the same bits", "\n");
  }
  if (first) {
    const program::Plan& plan =
        (recording.runs[first->run].kind == FrameKind::kPrompt ? program.prompt() : program.token()).plan;
    const program::Instruction& instruction = plan.program.instructions[first->instruction];
    const ckks::SecretKey secret = wire::read_secret_key(files.secret, *context);
    const double difference =
        apart(answer, read_file(path(message("answer-", recording.runs.size() - 1)), kMaxRecord), *context,
              ckks::Decryptor(secret));
    throw Error(
        message("the first difference is in run ", first->run + 1, ", instruction ", first->instruction,
                " of ", plan.program.instructions.size(), ": ", program::describe(instruction), ", ",
                hex(first->here), " here and ", hex(first->recorded), " recorded (with ", recording.made_with,
                "); decrypted, the last answers differ by ", format("%.2g", difference),
                difference < 1e-3 ? ", as they do where a plaintext's last bit does" : ""),
        Error::Kind::kFailed);
  }
  print(context->describe(), "\nthe same bits in all ", instructions, " instructions of ",
        counted(recording.runs.size(), "run"), ", with ",
        device ? device_flag.name.c_str() : ckks::kernels().name, " here and ", recording.made_with,
        " there; text: ", visible(recording.text), "\n");
  flags.write_json(Json::Object{{"runs", static_cast<int64_t>(recording.runs.size())},
                                {"instructions", static_cast<int64_t>(instructions)},
                                {"same", true}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::replay, argc, argv); }
