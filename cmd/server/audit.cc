// Checks a server's commitment: draws steps, and computes them again. It links no secret key.
#include <algorithm>
#include <set>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/random.h"
#include "ckks/program/commit/check.h"
#include "cmd/protocol/group_files.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/commitment_files.h"
#include "cmd/server/memory_flag.h"
#include "cmd/server/server.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

// Which steps to compute again: `count` of `total`, as nobody could have known them.
std::vector<int> draw(int64_t count, size_t total) {
  if (static_cast<uint64_t>(count) > total)
    throw Error(message("--steps ", count, " are more than the ", total, " that were committed to"));
  SecureRandom random;
  std::set<int> drawn;
  while (drawn.size() < static_cast<size_t>(count)) drawn.insert(static_cast<int>(random.next_u64() % total));
  return {drawn.begin(), drawn.end()};
}

// The openings of all groups. Throws Error unless the file has what the challenge asks for, under these keys, at the
// plan's levels and scales.
std::vector<program::Opening> read_openings(const std::string& path, const ckks::Context& context,
                                            const program::Steps& steps, const CommitmentNote& challenge,
                                            ckks::Fingerprint keys) {
  std::vector<program::OpenedValues> asked;
  size_t proofs = 0, ciphertexts = 0;
  for (size_t group = 0; group < challenge.roots.size(); ++group) {
    asked.emplace_back(steps, challenged_in(challenge, group, steps));
    proofs += asked.back().proved.size(), ciphertexts += asked.back().ciphertexts.size();
  }
  wire::CiphertextReader file(path, context, ciphertexts);
  auto note = parse_note<OpeningNote>(file.note(), path);
  if (note.program_id != challenge.program_id || note.request != challenge.request ||
      note.proofs.size() != proofs || file.heads().size() != ciphertexts || file.fingerprint() != keys)
    throw Error(message(path, " does not open what the challenge asks for"));
  std::vector<program::Opening> openings(asked.size());
  size_t proof = 0, at = 0;
  for (size_t group = 0; group < asked.size(); ++group) {
    for (size_t i = 0; i < asked[group].proved.size(); ++i)
      openings[group].proofs.push_back(std::move(note.proofs[proof++]));
    for (const program::Value value : asked[group].ciphertexts) {
      if (!is_at(file.heads()[at], steps.plan().level[program::id(value)], context))
        throw Error(message(path, ": value ", value.id, " is at another level or scale than in the program"));
      openings[group].ciphertexts.emplace(value.id, file.load(at++));
    }
  }
  return openings;
}

int audit(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:audit -- --program PROGRAM [--commitment FILE --out CHALLENGE | --challenge FILE "
      "--openings FILE --keys FILE --in FILE --answers FILE] [flags]",
      "Finds a server that computes something else than the program. With --commitment (of //cmd:infer "
      "--commit) it draws steps and writes a challenge. The server answers it with //cmd:infer --challenge. "
      "With --challenge and --openings it computes these steps again and compares. It needs no secret key. "
      "Do both before the answers are decrypted.");
  const std::string& program_path = flags.text("program", "", "the program (NAME.program of //cmd:compile)");
  const std::string& commitment = flags.text("commitment", "", "the server's commitment");
  const std::string& out = flags.output("out", "file for the challenge");
  const int64_t& steps_drawn = flags.integer("steps", 1, 1, 1 << 20, "how many steps to draw");
  const std::string& challenge_path = flags.text("challenge", "", "the challenge that the server answered");
  const std::string& openings_path = flags.text("openings", "", "the server's openings");
  const std::string& keys_path = flags.text("keys", "", "evaluation keys (evaluation.keys)");
  const std::string& in = flags.text("in", "", "the encrypted prompts");
  const std::string& answers_path = flags.text("answers", "", "the encrypted answers");
  const FileRingFlags ring(flags);
  flags.begin(argc, argv, {"program"});
  const bool draws = flags.given("commitment");
  for (const char* flag : {"out", "steps"})
    if (!draws && flags.given(flag)) throw Error(message("--", flag, " is for --commitment"));
  if (draws) flags.require("out");
  for (const char* flag : {"challenge", "openings", "keys", "in", "answers"}) {
    if (!draws) flags.require(flag);
    if (draws && flags.given(flag))
      throw Error(message("--", flag, " does not go with --commitment; leave it out"));
  }
  const PlannedPass pass(program::load_program(resolve_user_path(program_path)));
  const program::Steps steps(pass.plan);
  const ckks::Context& context = *pass.context;
  ring.require_security(context);
  if (draws) {
    CommitmentNote note = read_commitment(resolve_user_path(commitment), steps, pass.program_id);
    const size_t total = note.roots.size() * steps.size();
    note.challenged = draw(steps_drawn, total);
    write_file(resolve_user_path(out), note_text(note));
    print("wrote ", out, ": ", note.challenged.size(), " of ", total, " steps\n");
    flags.write_json(Json::Object{{"challenged", note.challenged.size()}, {"steps", total}});
    return 0;
  }
  const CommitmentNote challenge = read_challenge(resolve_user_path(challenge_path), steps, pass.program_id);
  wire::EvaluationKeysReader key_reader(resolve_user_path(keys_path), context);
  const ckks::Fingerprint pair = key_reader.fingerprint();
  const auto of_request = [&](const std::string& path, FileOf kind) {
    GroupFile<> file(path, context);
    const size_t groups =
        require_groups(file.reader, file.note, pass.ends(), kind, context, path, program_path);
    if (file.note.request != challenge.request || groups != challenge.roots.size())
      throw Error(message(path, " belongs to another request than the challenge"));
    if (file.reader.fingerprint() != pair)
      throw Error(message(path, " belongs to another key pair than --keys"));
    return file;
  };
  GroupFile<> prompts = of_request(in, FileOf::kPrompts),
              answers = of_request(answers_path, FileOf::kAnswers);
  const std::vector<program::Opening> openings =
      read_openings(resolve_user_path(openings_path), context, steps, challenge, pair);

  ckks::KeyRequest needed;
  double run_bytes = 0;
  for (const int step : challenge.challenged) {
    const PlannedPass part(pass.context,
                           program::plan_of(steps, static_cast<size_t>(step) % steps.size(), context.chain()),
                           pass.bootstraps);
    needed.merge(part.keys);
    run_bytes = std::max(run_bytes, part.reading.run_bytes());
  }
  key_reader.require(needed);
  require_memory(needed.bytes(context.chain()) + static_cast<size_t>(run_bytes));
  const ckks::EvaluationKeys keys = read_keys(key_reader, needed);
  for (size_t group = 0; group < openings.size(); ++group) {
    program::check_opening(steps, context.chain(), challenge.roots[group],
                           challenged_in(challenge, group, steps), openings[group], prompts.load(group),
                           answers.load(group), [&](program::Plan plan, const program::RunOptions& options) {
                             const PlannedPass part(pass.context, std::move(plan), pass.bootstraps);
                             Server(part, keys).run({}, options);
                           });
  }
  const size_t total = openings.size() * steps.size();
  const double chance = static_cast<double>(challenge.challenged.size()) / static_cast<double>(total);
  print(context.describe(), "\n", challenge.challenged.size(), " of ", total,
        " steps are what the program computes; a server that alters one is found with probability ",
        format("%.3g", chance), "\n");
  flags.write_json(
      Json::Object{{"challenged", challenge.challenged.size()}, {"steps", total}, {"probability", chance}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::audit, argc, argv); }
