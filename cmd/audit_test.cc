// A server that commits to what it computes, and an auditor, as commands.
#include <optional>
#include <string>

#include "ckks/base/files/file.h"
#include "ckks/program/verify/verify.h"
#include "ckks/wire/ciphertext_reader.h"
#include "ckks/wire/key_file.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/server/commitment_files.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

const std::string kFlags = " --program " + kProgram + " --insecure";
const std::string kServer = kFlags + " --keys " + kKeys + "/evaluation.keys";

std::string inferred(const std::string& prompts, const std::string& answers) {
  return "infer " + infer_flags(prompts, answers);
}
std::string drawn(const std::string& commitment, const std::string& out, int steps) {
  return "audit" + kFlags + " --commitment " + path_of(commitment) + " --out " + path_of(out) +
         message(" --steps ", steps);
}
std::string opened(const std::string& challenge, const std::string& prompts = "prompts.ct") {
  return inferred(prompts, "again.ct") + " --challenge " + path_of(challenge) + " --openings " +
         path_of("openings.ct");
}
std::string audited(const std::string& challenge, const std::string& openings = "openings.ct",
                    const std::string& prompts = "prompts.ct", const std::string& answers = "answers.ct") {
  return "audit" + kServer + " --challenge " + path_of(challenge) + " --openings " + path_of(openings) +
         " --in " + path_of(prompts) + " --answers " + path_of(answers);
}

// A failure of the server, and not of the files.
void check_found(const std::string& command, const std::string& why) { check_refused(command, why, 1); }

// A committed run, a challenge to six steps, and its opening; made once.
struct Setting {
  Setting() {
    make_pipeline();
    for (const char* out : {"prompts.ct", "others.ct"})
      must_run("encrypt " + client_flags() + "--sample 12 --out " + path_of(out));
    must_run(inferred("prompts.ct", "answers.ct") + " --commit " + path_of("commitment"));
    program = program::load_program(path_of("model.program"));
    steps.emplace(program.file.entry(kPass).plan);
    total = static_cast<int>(2 * steps->size());  // of two groups
    CHECK(contains(output_of(drawn("commitment", "challenge", 6)), message("6 of ", total, " steps")));
    challenge = read_commitment(path_of("challenge"), *steps, program.file.id());
    must_run(opened("challenge") + " --backend scalar");
  }

  program::VerifiedProgram program;
  std::optional<program::Steps> steps;
  int total = 0;
  CommitmentNote challenge;
};

const Setting& setting() {
  static const Setting made;
  return made;
}

// The ciphertexts of a file of this test in another one, with another note; `altered` is one of them, with one bit changed.
void rewrite(const std::string& from, const std::string& to, const std::string& note,
             size_t altered = SIZE_MAX) {
  const ckks::Context& context = *setting().program.context;
  wire::CiphertextReader file(path_of(from), context, 4096);
  wire::CiphertextWriter writer(path_of(to), context, file.fingerprint(), note);
  for (size_t i = 0; i < file.heads().size(); ++i) {
    ckks::Ciphertext ciphertext = file.load(i);
    if (i == altered) ciphertext.c[1].limb(0)[5] ^= 1;
    writer.write(ciphertext);
  }
  writer.commit();
}
template <typename Note>
Note note_of(const std::string& file) {
  return parse_note<Note>(wire::CiphertextReader(path_of(file), *setting().program.context, 4096).note(),
                          file);
}

TEST_CASE("a commitment is opened by a second run with the same bits, and the audit passes") {
  CHECK(setting().challenge.challenged.size() == 6);
  CHECK(read_file(path_of("again.ct"), 1 << 30) == read_file(path_of("answers.ct"), 1 << 30));
  CHECK(output_of(audited("challenge")).find("6 of ") != std::string::npos);
}

TEST_CASE("files of other requests, challenges and programs are refused") {
  const int total = setting().total;
  must_run(drawn("commitment", "another", 6));
  // Steps are drawn freshly. Those of two draws are the same by chance less than once in a million.
  REQUIRE(total >= 40);
  CHECK(read_file(path_of("challenge"), 1 << 20) != read_file(path_of("another"), 1 << 20));
  must_run(inferred("others.ct", "others_answers.ct"));
  check_refused(audited("another"), "openings.ct");
  check_refused(audited("challenge", "openings.ct", "others.ct"), "another request");
  check_refused(audited("challenge", "openings.ct", "prompts.ct", "others_answers.ct"), "another request");
  check_refused(opened("challenge", "others.ct"), "belongs to other prompts");
  check_refused(drawn("commitment", "none", total + 1), "more than the");
  check_refused(drawn("prompts.ct", "none", 1), "prompts.ct");
  check_refused(inferred("prompts.ct", "none.ct") + " --challenge " + path_of("challenge"),
                "belong together");
  check_refused(
      inferred("prompts.ct", "none.ct") + " --commit " + path_of("none") + " --state " + path_of("state"),
      "without --state");
  check_refused(drawn("commitment", "none", 1) + " --openings x", "--openings does not go with --commitment");
  check_refused(audited("challenge") + " --steps 2", "--steps is for --commitment");
}

TEST_CASE("a challenge whose root or steps are not those of the run is refused") {
  CommitmentNote forged = setting().challenge;
  forged.roots[1][0] ^= 1;
  write_file(path_of("forged"), note_text(forged));
  check_found(opened("forged"), "other roots than the commitment");
  check_refused(audited("forged"), "does not lead to the committed root");
  forged = setting().challenge;
  forged.challenged = {3, 3};
  write_file(path_of("forged"), note_text(forged));
  check_refused(audited("forged"), "twice or out of order");
  forged.challenged = {setting().total};
  write_file(path_of("forged"), note_text(forged));
  check_refused(audited("forged"), "asks for step");
}

TEST_CASE("openings that were altered are refused") {
  // Whole files, with checksums that are right, by a server that wants to deceive.
  auto forged = note_of<OpeningNote>("openings.ct");
  rewrite("openings.ct", "forged.ct", note_text(forged), 0);
  check_refused(audited("challenge", "forged.ct"), "was opened with other bits than were committed to");
  forged.proofs[0].path[0][0] ^= 1;
  rewrite("openings.ct", "forged.ct", note_text(forged));
  check_refused(audited("challenge", "forged.ct"), "does not lead to the committed root");
}

TEST_CASE("answers that were altered after the commitment are found") {
  rewrite("answers.ct", "altered.ct", note_text(note_of<CiphertextNote>("answers.ct")), 1);
  check_found(audited("challenge", "openings.ct", "prompts.ct", "altered.ct"), "other answers");
}

TEST_CASE("a server that computes with other weights is found") {
  // It runs another model's program, and calls its files after this one's.
  const uint64_t here = setting().program.file.id();
  attention::Checkpoint checkpoint = attention::load_checkpoint(path_of("model.safetensors"));
  for (double& range : checkpoint.ranges->residual) range *= 1.125;  // which only matrices depend on
  attention::save_checkpoint(path_of("other.safetensors"), checkpoint);
  compile(path_of("other.safetensors"), "other");
  const uint64_t there = program::load_program(path_of("other.program")).file.id();
  const auto renamed = [](auto note, uint64_t id) {
    note.program_id = id;
    return note_text(note);
  };
  const auto rename_commitment = [&](const std::string& from, const std::string& to, uint64_t id) {
    const std::string text = read_file(path_of(from), 1 << 20);
    write_file(path_of(to), renamed(parse_note<CommitmentNote>(text, from), id));
  };
  rewrite("prompts.ct", "other.ct", renamed(note_of<CiphertextNote>("prompts.ct"), there));
  const std::string serve =
      "infer " + infer_flags("other.ct", "false.ct", kKeys + "/evaluation.keys", path_of("other.program"));
  must_run(serve + " --commit " + path_of("false_commitment"));
  rewrite("false.ct", "false_here.ct", renamed(note_of<CiphertextNote>("false.ct"), here));
  rename_commitment("false_commitment", "commitment_here", here);
  must_run(drawn("commitment_here", "challenge_here", setting().total));
  rename_commitment("challenge_here", "false_challenge", there);
  must_run(serve + " --challenge " + path_of("false_challenge") + " --openings " +
           path_of("false_openings.ct"));
  rewrite("false_openings.ct", "openings_here.ct", renamed(note_of<OpeningNote>("false_openings.ct"), here));
  check_found(audited("challenge_here", "openings_here.ct", "prompts.ct", "false_here.ct"),
              "was not computed as the program says");
}

}  // namespace
}  // namespace psm::cmd
