// Fuzz targets of what the commands read besides models and keys (ckks/base/testing/fuzz.h says how they are
// run for long).
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <type_traits>

#include "attention/files/checkpoint.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/repeatable_random.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/testing/fuzz_container.h"
#include "cmd/client/prompt_record.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/server/kept_text.h"
#include "cmd/generation/text_ends.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/notes.h"
#include "cmd/server/commitment_files.h"
#include "cmd/server/inference_state.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

struct Descriptor {
  Descriptor(const std::string& path, int flags) : number(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~Descriptor() { ::close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

// What is read is written, and read again.
template <typename Note>
void read_note(const std::string& text) {
  const Note read = parse_note<Note>(text, "input");
  if constexpr (std::is_same_v<Note, TextNote>)
    PSM_CHECK(read.first >= 0 && read.first <= kMaxText && read.count >= 1 && read.count <= kMaxText);
  PSM_CHECK(note_text(parse_note<Note>(note_text(read), "again")) == note_text(read));
}

void read_record(const std::string& text) {
  const TextRecord read = TextRecord::parse(text, "input", 5);
  PSM_CHECK(read.prompt >= 1 && read.prompt <= static_cast<int>(read.tokens.size()));
  for (const int token : read.tokens) PSM_CHECK(token >= 0 && token < 5);
  PSM_CHECK(note_text(TextRecord::parse(note_text(read), "again", 5)) == note_text(read));
}

TEST_CASE(
    "the notes of files of ciphertexts and weights, of a conversation, of a text, and of a commitment") {
  const program::Digest digest{1, 2, 3};
  TextRecord record;
  record.text = 0xfedcba9876543210, record.program = 1, record.keys = 2;
  record.prompt = 2, record.tokens = {3, 1, 4, 1};
  record.sampler = {.temperature = 0.5, .top_k = 3, .seed = 7};
  FuzzTarget target{.name = "notes", .fixed_bytes = 32768, .bytes_per_byte = 200};
  target.corpus = {note_text(CiphertextNote{0x0123456789abcdef, 0xfedcba9876543210, {"x0", "x1"}}),
                   note_text(TextNote{{0x0123456789abcdef, 0xfedcba9876543210, {"x"}}, 12, 3}),
                   note_text(Greeting{1, 2, 3, 0xfedcba9876543210, 4, 7}),
                   note_text(WeightNote{{3, 0xfedcba9876543210, {"layer 0 / output 0"}}}),
                   note_text(CommitmentNote{1, 2, {digest, digest}, {0, 3, 17}}),
                   note_text(OpeningNote{1, 2, {{digest, {digest, digest}}, {digest, {}}}}),
                   note_text(record)};
  target.decode = [](std::string_view bytes) {
    const std::string note(bytes);
    switch (note.empty() ? NoteKind{} : static_cast<NoteKind>(note[0])) {
      case NoteKind::kText:
        return read_note<TextNote>(note);
      case NoteKind::kGreeting:
        return read_note<Greeting>(note);
      case NoteKind::kWeights:
        return read_note<WeightNote>(note);
      case NoteKind::kCommitment:
        return read_note<CommitmentNote>(note);
      case NoteKind::kOpening:
        return read_note<OpeningNote>(note);
      case NoteKind::kTextRecord:
        return read_record(note);
      default:
        return read_note<CiphertextNote>(note);
    }
  };
  check_fuzz(target);
  CHECK_REFUSED(TextRecord::parse(note_text(record), "text.record", 4), "token");
}

TEST_CASE("the client's record of its prompts") {
  FuzzTarget target{.name = "prompt record", .fixed_bytes = 8192, .bytes_per_byte = 200};
  const std::string good = PromptRecord{{{3, 4}, {5}}}.text();
  target.corpus = {good};
  target.repair = [](std::string& text, TrainingRandom&) {
    uint64_t checksum = 0;
    if (text.size() < sizeof checksum) return;
    checksum = checksum64(text.data(), text.size() - sizeof checksum);
    std::memcpy(&text[text.size() - sizeof checksum], &checksum, sizeof checksum);
  };
  target.decode = [](std::string_view text) {
    const PromptRecord record = PromptRecord::parse(std::string(text), "input", 4, 64);
    for (const std::vector<int>& group : record.lengths) {
      PSM_CHECK(!group.empty() && group.size() <= 4);
      for (const int length : group) PSM_CHECK(length >= 1 && length <= 64);
    }
    PSM_CHECK(record.text() == text);
  };
  check_fuzz(target);
  for (const size_t at : {size_t{8}, good.size() - 1}) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK_REFUSED(PromptRecord::parse(changed, "prompts.record", 4, 64), "prompts.record is damaged");
  }
  CHECK_REFUSED(PromptRecord::parse(good.substr(0, 20), "prompts.record", 4, 64), "is damaged");
}

TEST_CASE("a checkpoint's notes on its tokens and scores, and prompts") {
  FuzzTarget target{.name = "notes and prompts", .fixed_bytes = 8192, .bytes_per_byte = 200};
  const std::string form = prompt_form(PromptCodec(nn::RecallOptions{8, 4, 2, 8}));
  target.corpus = {
      hex(form.data(), form.size()) + "|k0 v1 k7 v3 k0|" +
      "{\"data\":\"recall\",\"softmax\":{\"scored\":2,\"correct\":1,\"cross_entropy\":1,\"tokens\":9}}"};
  target.decode = [](std::string_view text) {
    const size_t first = std::min(text.find('|'), text.size()),
                 second = std::min(text.find('|', first + 1), text.size());
    attention::Checkpoint checkpoint;
    checkpoint.weights.config.vocab = 12, checkpoint.weights.config.context = 8;
    if (first > 0) checkpoint.notes["prompts"] = text.substr(0, first);
    checkpoint.notes["scores"] = text.substr(std::min(second + 1, text.size()));
    const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);
    const std::string prompt(text.substr(std::min(first + 1, second), second - std::min(first + 1, second)));
    const std::vector<int> tokens = codec.encode(prompt);
    PSM_CHECK(codec.encode(codec.decode(tokens)) == tokens);
    write_notes(codec, checkpoint.notes, checkpoint.weights.config);
    PSM_CHECK(codec_of(checkpoint.weights.config, checkpoint.notes).encode(prompt) == tokens);
    read_scores(checkpoint);
  };
  check_fuzz(target);
}

TEST_CASE("frames of a conversation") {
  const std::string path = path_of("conversation");
  const Descriptor out(path, O_WRONLY | O_CREAT | O_TRUNC);
  FrameChannel server(-1, out.number, "the client");
  server.send(FrameKind::kReady, note_text(Greeting{1, 2, 3, 0xfedcba9876543210, 4, 7}));
  server.send(FrameKind::kRepeat, "");
  server.send(FrameKind::kAnswer, std::string(64, 'x'));
  FuzzTarget target{.name = "frames", .fixed_bytes = 16384, .bytes_per_byte = 16};
  target.corpus = {read_file(path, 1 << 20)};
  target.decode = [](std::string_view bytes) {
    const Descriptor in(in_file(bytes), O_RDONLY), again(in_file("", "again"), O_WRONLY);
    FrameChannel channel(in.number, again.number, "the server");
    while (const auto frame = channel.receive(64)) {
      PSM_CHECK(frame->payload.size() <= 64);
      channel.send(frame->kind, frame->payload);
    }
    PSM_CHECK(read_file(path_of("again"), 1 << 20) == bytes);
  };
  check_fuzz(target);
}

TEST_CASE("a file of logits") {
  const std::string path = path_of("logits");
  write_logits(path, 7, {{1, 2.5}, {}, {-3}});
  FuzzTarget target{.name = "logits", .fixed_bytes = 16384, .bytes_per_byte = 40};
  target.corpus = {read_file(path, 1 << 20)};
  target.decode = [](std::string_view bytes) { read_logits(in_file(bytes), 7); };
  check_fuzz(target);
}

TEST_CASE("a text that a server keeps") {
  restart_kernel_randomness();  // so that a file of an earlier test is of the same keys
  ckks::ParameterSpec spec = ckks::insecure_leveled(4, 3);
  spec.secret_hamming_weight = 8, spec.encapsulation_hamming_weight = 4;
  const auto context = std::make_shared<const ckks::Context>(spec);
  ckks::TestParty party(spec);
  TextEnds ends({0, {{"x", 2}}, {{"y", 0}, {"k", 2}}}, {0, {{"x", 2}, {"k", 2}}, {{"y", 1}, {"k", 2}}});
  ends.id = 7, ends.context = context, ends.tokens = 8;
  const std::string folder = path_of("kept");
  FuzzTarget target{.name = "kept text", .fixed_bytes = 64 << 10, .bytes_per_byte = 100};
  for (const int first : {0, 3}) {
    std::filesystem::remove_all(folder);
    KeptText kept(folder, ends, party.secret.fingerprint());
    const TextNote note{{7, 5, {"y"}}, first, first == 0 ? 3 : 1};
    Ciphertexts outputs;
    for (const PlanEnd& end : {ends.caches[0], ends.outputs(first, 0)[0]})
      outputs.emplace(end.name, party.encrypt(party.random_slots(1), end.level));
    kept.keep(note, 0, std::move(outputs));
    target.corpus.push_back(read_file(folder + "/text.ct", 1 << 20));
  }
  target.repair = wire::repair_container;
  target.marks = wire::container_marks;
  target.decode = [&](std::string_view bytes) {
    const std::string file = in_file(bytes, "kept/text.ct");
    if (bytes.empty()) std::filesystem::remove(file);
    const KeptText kept(folder, ends, party.secret.fingerprint());
    PSM_CHECK(kept.cached() >= (bytes.empty() ? 0 : 1) && kept.cached() <= ends.tokens, kept.cached());
    PSM_CHECK(kept.caches().size() == ends.caches.size() && kept.cache_bytes() < 64 << 10);
    kept.answer();
  };
  check_fuzz(target);
}

TEST_CASE("the state of an interrupted run") {
  restart_kernel_randomness();
  ckks::ParameterSpec spec = ckks::insecure_leveled(4, 3);
  spec.secret_hamming_weight = 8, spec.encapsulation_hamming_weight = 4;
  ckks::TestParty party(spec);
  program::Builder builder(static_cast<size_t>(party.context.slots()));
  const program::Value x = builder.input("x"), square = builder.square(x);
  builder.output("square", square);
  builder.output("sum", builder.add(builder.square(square), x));
  const PlannedPass pass(
      std::make_shared<const ckks::Context>(spec),
      program::plan(std::move(builder).finish(), program::CostModel(party.context.chain())));
  const program::Plan& plan = pass.plan;
  std::deque<std::string> sent;
  const auto request_of = [&](ckks::Fingerprint keys, const char* note) {
    wire::CiphertextWriter(&sent.emplace_back(), party.context, keys, note).commit();
    return wire::CiphertextReader(ByteSource("request", sent.back()), party.context, 1);
  };
  const wire::CiphertextReader request = request_of(party.secret.fingerprint(), "{}");

  const std::string folder = path_of("group");
  const size_t end = plan.program.instructions.size();
  FuzzTarget target{.name = "inference state", .fixed_bytes = 64 << 10, .bytes_per_byte = 60};
  for (const size_t next : {end - 1, end}) {
    std::filesystem::remove_all(folder);
    InferenceState state(folder, pass, request, 2);
    program::RunOptions options;
    state.watch(options);
    std::deque<ckks::Ciphertext> values;
    InferenceState::LiveValues live;
    for (const program::Value value : program::live_after(plan, next - 1)) {
      values.push_back(party.encrypt(party.random_slots(1), plan.level[value.id]));
      live.emplace_back(value, &values.back());
    }
    options.checkpoint(next, live);
    target.corpus.push_back(read_file(folder + "/group-0", 1 << 20));
  }
  target.repair = wire::repair_container;
  target.marks = wire::container_marks;
  // What was read is saved again, as that of the next group if its group is finished.
  target.decode = [&](std::string_view bytes) {
    std::filesystem::remove_all(folder);
    if (!bytes.empty()) std::filesystem::create_directory(folder);
    in_file(bytes, bytes.empty() ? "group" : "group/group-0");  // a file is no folder
    InferenceState state(folder, pass, request, 2);
    program::RunOptions options;
    state.watch(options);
    if (const auto inside = state.take_checkpoint()) {
      InferenceState::LiveValues live;
      for (const auto& [value, ciphertext] : inside->live) live.emplace_back(value, &ciphertext);
      options.checkpoint(inside->next_instruction, live);
    } else {
      InferenceState::Outputs outputs;
      for (const auto& [name, ciphertext] : state.answers()[0]) outputs.emplace(name, ciphertext.clone());
      state.finish_group(std::move(outputs));
    }
    PSM_CHECK(!state.text().empty() && InferenceState(folder, pass, request, 2).text() == state.text());
    state.remove();
  };
  check_fuzz(target);

  // What was saved comes back, the outputs at the end, and the state of another group or run does not.
  const auto read = [&](const std::vector<std::string>& groups, const PlannedPass& of,
                        const wire::CiphertextReader& asked) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    for (size_t i = 0; i < groups.size(); ++i) write_file(message(folder, "/group-", i), groups[i]);
    return InferenceState(folder, of, asked, 2);
  };
  const std::string &inside = target.corpus[0], &finished = target.corpus[1];
  CHECK(read({inside}, pass, request).take_checkpoint()->next_instruction == end - 1);
  const InferenceState state = read({finished}, pass, request);
  REQUIRE(state.answers().size() == 1);
  CHECK(state.answers()[0].size() == 2);
  for (const auto& output : plan.program.outputs) CHECK(state.answers()[0].contains(output.name));
  PlannedPass other = pass;
  other.program_id = 8;
  CHECK_REFUSED(read({finished, finished}, pass, request), "another run");
  CHECK_REFUSED(read({finished}, other, request), "another run");
  CHECK_REFUSED(read({finished}, pass, request_of(party.secret.fingerprint(), "{ }")), "another run");
  ckks::Fingerprint other_keys = request.fingerprint();
  ++other_keys.key;
  CHECK_REFUSED(read({finished}, pass, request_of(other_keys, "{}")), "another run");
}

}  // namespace
}  // namespace psm::cmd
