// What passes between client and server in files, and what does not; what either refuses before it works; and
// what stays when something fails. Through the commands, as pipeline_test.cc.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/testing/ciphertext_files.h"
#include "cmd/client/client_file.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

// Ten prompts of different lengths: two groups of eight at most.
constexpr int kGroup = 8;
const std::vector<int> kLengths = {6, 16, 5, 7, 16, 9, 11, 16, 13, 15};

void encrypt(const std::string& out, const std::vector<int>& lengths, const std::string& keys = kKeys) {
  const std::string file = path_of(out + ".txt");
  std::string text;
  for (const int length : lengths) {
    for (int t = 0; t < length; ++t) text += message(t == 0 ? "" : " ", t % 2 == 0 ? "k" : "v", t / 2 % 2);
    text += "\n";
  }
  write_file(file, text);
  must_run("encrypt " + client_flags(keys) + "--out " + path_of(out) + " --prompts " + file);
}

void check_answers(const std::string& in) {
  must_agree(client_flags() + "--in " + path_of(in), kClient, kProgram,
             "--prompts " + path_of("prompts.ct.txt"));
}

// Keys, and the ten prompts encrypted, made once.
void prepare() {
  make_pipeline();
  if (!fs::exists(path_of("prompts.ct"))) encrypt("prompts.ct", kLengths);
}

const ckks::Context& context() {
  static const std::unique_ptr<const ckks::Context> made =
      wire::read_context(kKeys + "/public.key", wire::FileKind::kPublicKey);
  return *made;
}

const std::string& answers() {
  static const std::string name = [] {
    prepare();
    must_run("infer " + infer_flags("prompts.ct", "answers.ct"));
    return "answers.ct";
  }();
  return name;
}

wire::CiphertextFile read(const std::string& name) {
  return wire::read_ciphertexts(path_of(name), context(), 1 << 12);
}

CiphertextNote note_of(const std::string& name) {
  const wire::CiphertextReader reader(path_of(name), context(), 1 << 12);
  return parse_note<CiphertextNote>(reader.note(), "note");
}

void rename_first(wire::CiphertextFile& file, const char* name) {
  auto note = parse_note<CiphertextNote>(file.note, "note");
  note.names.at(0) = name;
  file.note = note_text(note);
}

// The file with a residue of one ciphertext changed, under the checksum of what it was.
void damage(const std::string& from, const std::string& to, size_t ciphertext) {
  const uint64_t at =
      wire::CiphertextReader(path_of(from), context(), 1 << 12).heads().at(ciphertext).position + 100;
  flipped(path_of(from), path_of(to), at);
}

// Keys whose heads are right and whose first polynomial is damaged: whoever reads them says so.
std::string damaged_keys() { return flipped(kKeys + "/evaluation.keys", path_of("damaged.keys"), 1000); }

std::vector<std::string> records() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kKeys)) {
    if (entry.path().filename().string().starts_with("prompts-")) found.push_back(entry.path().string());
  }
  return found;
}

TEST_CASE("of the prompts the server's file tells how many groups there are, and nothing else") {
  prepare();
  const size_t records_before = records().size();
  encrypt("few.ct", {5, 15});
  encrypt("many.ct", std::vector<int>(kGroup, 16));
  CHECK(fs::file_size(path_of("few.ct")) == fs::file_size(path_of("many.ct")));
  for (const std::string name : {"few.ct", "many.ct", "prompts.ct"}) {
    // The note holds the program's id, the number of the request and the names of a group, and nothing behind them.
    const CiphertextNote note = note_of(name);
    const ClientFile client = read_client_file(kClient);
    CHECK(note.program_id == client.program_id());
    CHECK(note.names == names_of(client.ends(kPass).inputs));
    size_t bytes = 4 + 8 + 8 + 4;
    for (const std::string& each : note.names) bytes += 4 + each.size();
    CHECK(read(name).note.size() == bytes);
  }
  // The client keeps the lengths in a record.
  CHECK(records().size() == records_before + 2);
}

TEST_CASE("the client finds its prompts' lengths again, or is told that their record is missing") {
  const std::string decrypt = client_flags() + "--in " + path_of(answers());
  const std::string record = KeyFiles(kKeys).prompts(note_of(answers()).request);
  const std::string content = read_file(record, 1 << 20);
  fs::remove(record);
  check_refused("decrypt " + decrypt, "does not say how long its prompts were");
  write_file(record, content);
}

TEST_CASE("a request that does not fit the plan is refused before a key is read") {
  prepare();
  const std::string keys = damaged_keys();
  const auto check_refused_early = [&](const char* said) {
    check_refused("infer " + infer_flags("wrong.ct", "wrong_answers.ct", keys), said);
    CHECK_FALSE(fs::exists(path_of("wrong_answers.ct")));
  };
  const auto change = [&](auto&& function) {
    wire::CiphertextFile file = read("prompts.ct");
    function(file);
    wire::write_ciphertexts(path_of("wrong.ct"), context(), file);
  };
  change([](wire::CiphertextFile& file) {
    ckks::Ciphertext& last = file.ciphertexts.back();
    last.declare_scale(ckks::Scale(2 * last.scale()));
  });
  check_refused_early("the plan of");
  change([](wire::CiphertextFile& file) {
    for (ckks::RnsPoly& poly : file.ciphertexts.back().c) poly = poly.clone_prefix({poly.basis().q - 1, 0});
  });
  check_refused_early("is at level");
  change([](wire::CiphertextFile& file) { file.ciphertexts.pop_back(); });
  check_refused_early("no groups of");
  change([](wire::CiphertextFile& file) { rename_first(file, "y"); });
  check_refused_early("lists the ciphertexts");
  // And what fits gets as far as the keys.
  change([](wire::CiphertextFile&) {});
  check_refused_early("damaged.keys");
}

TEST_CASE(
    "the memory that a run asks for counts its ciphertexts: the answers of every group, the inputs of one") {
  prepare();
  constexpr int kGroups = 60;
  wire::CiphertextReader two(path_of("prompts.ct"), context(), 4);
  wire::CiphertextWriter many(path_of("sixty.ct"), context(), two.fingerprint(), two.note());
  for (size_t i = 0; i < kGroups * 2; ++i) many.write(two.load(i % 4));
  many.commit();
  // In megabytes, as the refusal says. One arena: each further one reserves 64 MB of address space.
  const auto asked_for = [](const std::string& in) {
    const Outcome outcome =
        run_command_line("infer " + infer_flags(in, "none.ct"), "ulimit -v 130000; MALLOC_ARENA_MAX=1 ");
    CHECK(outcome.exit_code == 2);
    const std::string before = "this needs about ";
    const size_t at = outcome.err.find(before);
    REQUIRE_MESSAGE(at != std::string::npos, outcome.err);
    CHECK(outcome.err.find(" MB of memory", at) != std::string::npos);
    return std::stod(outcome.err.substr(at + before.size()));
  };
  const double answer = 2 * 8 * static_cast<double>(context().n());  // at level 0
  CHECK(asked_for("sixty.ct") - asked_for("prompts.ct") ==
        doctest::Approx((kGroups - 2) * answer / 1e6).epsilon(0.1));
}

TEST_CASE("the answers of finished groups are kept when a later one cannot be read") {
  prepare();
  damage("prompts.ct", "half.ct", 3);
  check_refused("infer " + infer_flags("half.ct", "half_answers.ct"),
                "half_answers.ct has the answers of the first 1 of 2 groups");
  check_answers("half_answers.ct");
  CHECK(contains(run_command_line("decrypt " + client_flags() + "--in " + path_of("half_answers.ct")).err,
                 "warning: "));
  const Json json = json_in("answers.json");
  CHECK(json.at("answers", "json").array("answers").size() == kGroup);
}

TEST_CASE("of a folder every file is answered that has no answer yet, with the keys read once") {
  prepare();
  const fs::path in = path_of("many"), out = path_of("many_answers");
  fs::create_directory(in);
  for (const bool own : {false, true}) {  // a folder of the user's stays, one that was made for answers goes
    if (own) fs::create_directory(out);
    check_refused("infer " + infer_flags("many", "many_answers"), "has no files");
    CHECK(fs::exists(out) == own);
  }
  fs::copy(path_of("prompts.ct"), in / "a.ct");
  fs::copy(path_of("prompts.ct"), in / "b.ct");
  const Outcome first =
      must_run("infer " + infer_flags("many", "many_answers") + " --state " + path_of("many_states"));
  CHECK(first.out.find("4 passes") != std::string::npos);
  const std::string expected = read_file(path_of(answers()), 1 << 26);
  for (const char* name : {"a.ct", "b.ct"}) CHECK(read_file((out / name).string(), 1 << 26) == expected);
  CHECK(fs::is_empty(path_of("many_states")));
  // One more comes, together with what a killed writer left, which is no prompt.
  fs::copy(path_of("prompts.ct"), in / "c.ct");
  write_file((in / "a.ct.part-0123456789abcdef").string(), "half");
  const fs::file_time_type before = fs::last_write_time(out / "a.ct");
  const Outcome second = must_run("infer " + infer_flags("many", "many_answers"));
  CHECK(second.out.find("2 passes") != std::string::npos);
  CHECK(fs::last_write_time(out / "a.ct") == before);
  CHECK(read_file((out / "c.ct").string(), 1 << 26) == expected);
  const Outcome third = run_command_line("infer " + infer_flags("many", "many_answers"));
  CHECK(third.exit_code == 0);
  CHECK(third.out.find("has the answers of all files") != std::string::npos);
  // A file without prompts is known before a key is read. Alone it ends the run; it does not hold up others.
  write_file((in / "d.ct").string(), "no prompts");
  const auto is_named = [&](const Outcome& bad) {
    CHECK(bad.exit_code == 1);
    CHECK(bad.err.find("d.ct is not answered: ") != std::string::npos);
    CHECK(bad.err.find("error: these files were not answered, for the reasons above: " +
                       (in / "d.ct").string() + "\n") != std::string::npos);
  };
  is_named(run_command_line("infer " + infer_flags("many", "many_answers", damaged_keys())));
  fs::copy(path_of("prompts.ct"), in / "e.ct");
  is_named(run_command_line("infer " + infer_flags("many", "many_answers")));
  CHECK(read_file((out / "e.ct").string(), 1 << 26) == expected);
  check_refused("infer " + infer_flags("many", "many"), "--out and --in are the same");
  CHECK(run_command_line("infer " + infer_flags("many", "prompts.ct")).exit_code == 2);
}

TEST_CASE("in a folder an answer is that of the very request under its name, and of all its groups") {
  prepare();
  const fs::path in = path_of("renewed"), out = path_of("renewed_answers");
  fs::create_directory(in);
  damage("prompts.ct", "renewed/a.ct", 3);
  const auto answer = [] { return run_command_line("infer " + infer_flags("renewed", "renewed_answers")); };
  for (int i = 0; i < 2; ++i) {  // what the first run left is not taken for all of it
    const Outcome stopped = answer();
    CHECK(stopped.exit_code == 1);
    CHECK(stopped.err.find("a.ct has the answers of the first 1 of 2 groups") != std::string::npos);
  }
  // Times say nothing: what comes next is older than the answers.
  const auto renew = [&](const std::string& name) {
    fs::copy(path_of(name), in / "a.ct", fs::copy_options::overwrite_existing);
    fs::last_write_time(in / "a.ct", fs::file_time_type::clock::now() - std::chrono::hours(1));
    const Outcome outcome = answer();
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return outcome.out;
  };
  CHECK(renew("prompts.ct").find("2 passes") != std::string::npos);
  CHECK(read_file((out / "a.ct").string(), 1 << 26) == read_file(path_of(answers()), 1 << 26));
  CHECK(renew("prompts.ct").find("has the answers of all files") != std::string::npos);
  encrypt("newer.ct", kLengths);
  CHECK(renew("newer.ct").find("2 passes") != std::string::npos);
  CHECK(note_of("renewed_answers/a.ct").request == note_of("newer.ct").request);
}

TEST_CASE("a folder may hold more files than a process may open") {
  prepare();
  const fs::path in = path_of("crowd");
  fs::create_directory(in);
  for (int i = 0; i < 64; ++i) fs::create_hard_link(path_of("prompts.ct"), in / message(i, ".ct"));
  const Outcome outcome =
      run_command_line("infer " + infer_flags("crowd", "crowd_answers", damaged_keys()), "ulimit -n 32; ");
  CHECK(outcome.exit_code == 2);
  CAPTURE(outcome.err);
  CHECK(outcome.err.find("damaged.keys") != std::string::npos);  // all files were in order
}

TEST_CASE("a group that is in the state is not run again") {
  prepare();
  const std::string state = " --state " + path_of("groups");
  damage("prompts.ct", "second_bad.ct", 3);
  damage("prompts.ct", "first_bad.ct", 0);
  CHECK(run_command_line("infer " + infer_flags("second_bad.ct", "resumed.ct") + state).exit_code == 2);
  CHECK(fs::exists(path_of("groups/group-0")));
  // The first group of this file cannot be read: it need not be.
  must_run("infer " + infer_flags("first_bad.ct", "resumed.ct") + state);
  CHECK_FALSE(fs::exists(path_of("groups")));
  check_answers("resumed.ct");
}

TEST_CASE("a state that cannot be kept is refused before a key is read") {
  prepare();
  const std::string keys = damaged_keys();
  const std::string file = path_of("prompts.ct.txt");
  for (const std::string& state : {file, file + "/state"}) {
    check_refused("infer " + infer_flags("prompts.ct", "unstated.ct", keys) + " --state " + state,
                  "cannot write " + state + ": " + file + " is no folder");
  }
}

TEST_CASE("a run that is killed, also while it goes on, ends with the same answer") {
  prepare();
  const std::string state = path_of("again"), mark = path_of("mark"),
                    infer = "infer " + infer_flags("prompts.ct", "again.ct") + " --state " + state;
  for (int i = 0; i < 4; ++i)
    run_command_line(infer,
                     ": >" + mark + "; " + signalled("KILL", "[ " + state + "/group-0 -nt " + mark + " ]"));
  must_run(infer);
  CHECK(read_file(path_of("again.ct"), 1 << 26) == read_file(path_of(answers()), 1 << 26));
}

TEST_CASE("what is interrupted says so and leaves nothing half made") {
  prepare();
  const std::string folder = path_of("interrupted_keys");
  const Outcome keys = run_command_line("keygen --client " + kClient + " --out " + folder + " --insecure",
                                        signalled("INT", "[ -e " + folder + "/.new-keys.part/secret.key ]"));
  CHECK(keys.exit_code == 128 + SIGINT);
  CHECK(keys.err.ends_with("interrupted: no keys were kept; run the same command again to make them\n"));
  CHECK_FALSE(fs::exists(folder));

  const std::string state = path_of("interrupted_state"),
                    infer = "infer " + infer_flags("prompts.ct", "interrupted.ct") + " --state " + state;
  const Outcome stopped = run_command_line(infer, signalled("TERM", "[ -e " + state + "/group-0 ]"));
  CHECK(stopped.exit_code == 128 + SIGTERM);
  // Where the machine stalls, the first group may be done before the signal comes.
  const std::string done = contains(stopped.err, " 1 of 2 groups")
                               ? "1 of 2 groups of prompts"
                               : "0 of 2 groups of prompts, and the next up to instruction ";
  CHECK(contains(stopped.err, "interrupted: of " + path_of("prompts.ct") + " " + done));
  CHECK(
      stopped.err.ends_with(" are kept in " + state + "; run the same command again to go on from there\n"));
  CHECK_FALSE(fs::exists(path_of("interrupted.ct")));
  const Outcome last = must_run(infer);
  CHECK(last.out.starts_with(path_of("prompts.ct") + " goes on from its state: " + done));
  CHECK_FALSE(fs::exists(state));
}

TEST_CASE("a save that fails warns, and the run goes on to its answers") {
  prepare();
  // The live ciphertexts after a block pass the limit, the answers do not.
  const Outcome outcome =
      run_command_line("infer " + infer_flags("prompts.ct", "limited.ct") + " --state " + path_of("limited"),
                       "trap '' XFSZ; ulimit -f 240; ");
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("warning: cannot write") != std::string::npos);
  CHECK(read("limited.ct").ciphertexts.size() == 2);
}

TEST_CASE(
    "who has the secret key encrypts in half the bytes, and who has the public key alone can encrypt too") {
  prepare();
  const wire::CiphertextReader fresh(path_of("prompts.ct"), context(), 1 << 12);
  for (const wire::CiphertextReader::Head& head : fresh.heads()) CHECK(head.seeded);
  const std::string folder = path_of("public");
  fs::create_directory(folder);
  fs::copy_file(kKeys + "/public.key", folder + "/public.key");
  encrypt("public.ct", kLengths, folder);
  const auto size = [](const std::string& name) { return static_cast<double>(fs::file_size(path_of(name))); };
  CHECK(size("prompts.ct") < 0.55 * size("public.ct"));
  must_run("infer " + infer_flags("public.ct", "public_answers.ct"));
  for (const auto& entry : fs::directory_iterator(folder))  // the record of its prompts
    if (entry.path().extension() == ".record")
      fs::copy_file(entry.path(), kKeys + "/" + entry.path().filename().string());
  check_answers("public_answers.ct");
  fs::remove(folder + "/public.key");
  check_refused("encrypt " + client_flags(folder) + "--sample 2 --out " + path_of("alone.ct"),
                "cannot read " + folder + "/public.key");
}

}  // namespace
}  // namespace psm::cmd
