// Fuzz targets of what the commands read beside models and keys (ckks/base/testing/fuzz.h says how they are run for long).
#include <cstdlib>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/testing/fuzz_container.h"
#include "cmd/deployment/ciphertext_note.h"
#include "cmd/deployment/inference_state.h"
#include "cmd/deployment/prompts.h"
#include "cmd/training/training_run.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

void run(const FuzzTarget& target, uint64_t inputs = 4000) {
  const FuzzReport report = fuzz(target, inputs);
  CHECK(report.failure == "");
  CHECK(report.accepted > 0);
  CHECK(report.refused > 0);
}

TEST_CASE("the note of a ciphertext file") {
  CiphertextNote note;
  note.model_fingerprint = 0x0123456789abcdef;
  note.names = {"x0", "x1"};
  note.lengths = {{3, 4}, {5}};
  FuzzTarget target;
  target.name = "ciphertext note";
  target.corpus = {note.text()};
  target.decode = [](std::string_view text) {
    const CiphertextNote read = CiphertextNote::parse(std::string(text), "input", 4, 64);
    PSM_CHECK(read.ciphertexts() >= 1);
    PSM_CHECK(CiphertextNote::parse(read.text(), "again", 4, 64).lengths == read.lengths);
  };
  target.fixed_bytes = 8192, target.bytes_per_byte = 200;
  run(target);
}

TEST_CASE("a checkpoint's notes on its tokens and scores, and prompts") {
  FuzzTarget target;
  target.name = "notes and prompts";
  target.corpus = {
      "{\"keys\":8,\"values\":4,\"pairs\":2,\"length\":8}|k0 v1 k7 v3 "
      "k0|{\"softmax\":{\"loss\":1,\"scored\":2,\"correct\":1}}"};
  target.decode = [](std::string_view text) {
    const size_t first = std::min(text.find('|'), text.size()),
                 second = std::min(text.find('|', first + 1), text.size());
    Checkpoint checkpoint;
    checkpoint.weights.config.vocab = 12;
    checkpoint.notes["recall"] = text.substr(0, first);
    checkpoint.notes["scores"] = text.substr(std::min(second + 1, text.size()));
    const PromptCodec codec(checkpoint);
    const std::string prompt(text.substr(std::min(first + 1, second), second - std::min(first + 1, second)));
    const std::vector<int> tokens = codec.encode(prompt);
    PSM_CHECK(codec.encode(codec.decode(tokens)) == tokens);
    read_scores(checkpoint);
  };
  target.fixed_bytes = 8192, target.bytes_per_byte = 200;
  run(target);
}

TEST_CASE("the state of an interrupted run") {
  ParameterSpec spec = insecure_leveled(4, 3);
  spec.secret_hamming_weight = 8, spec.encapsulation_hamming_weight = 4;
  TestParty party(spec);
  program::Builder builder(static_cast<size_t>(party.context.slots()));
  const program::Value x = builder.input("x"), square = builder.square(x);
  builder.output("square", square);
  builder.output("sum", builder.add(builder.square(square), x));
  const program::Plan plan = program::plan(std::move(builder).finish(), program::budget_of(party.context),
                                           program::CostModel(program::shape_of(party.context)));
  const RunIdentity identity{
      .keys = party.secret.fingerprint(), .model = 7, .request = ~uint64_t{0}, .groups = 2};
  const auto encrypted = [&](program::Value value) {
    return party.encrypt(party.random_slots(1), plan.level[static_cast<size_t>(value.id)]);
  };
  std::vector<std::map<std::string, Ciphertext>> outputs(1);
  for (const auto& output : plan.program.outputs) outputs[0].emplace(output.name, encrypted(output.value));
  std::vector<Ciphertext> values;
  LiveValues live;
  const size_t next = plan.program.instructions.size() - 1;
  const auto needed = program::live_after(plan, next - 1);
  for (const program::Value value : needed) values.push_back(encrypted(value));
  for (size_t i = 0; i < needed.size(); ++i) live.emplace_back(needed[i], &values[i]);

  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/state";
  FuzzTarget target;
  target.name = "inference state";
  write_run(path, party.context, plan, identity, outputs, next, live);
  target.corpus.push_back(read_file(path, 1 << 20));
  write_run(path, party.context, plan, identity, outputs, 0, {});
  target.corpus.push_back(read_file(path, 1 << 20));
  target.repair = wire::repair_container;
  target.marks = wire::container_marks;
  target.decode = [&](std::string_view bytes) {
    const SavedRun saved = read_run(ByteSource("input", bytes), party.context, plan, identity);
    PSM_CHECK(saved.outputs.size() <= identity.groups, saved.outputs.size());
  };
  target.fixed_bytes = 32 << 10, target.bytes_per_byte = 60;
  run(target);

  // What was saved comes back, and more groups than the run has do not.
  const SavedRun saved = read_run(ByteSource("state", target.corpus[0]), party.context, plan, identity);
  CHECK(saved.outputs.size() == 1);
  REQUIRE(saved.checkpoint.has_value());
  CHECK(saved.checkpoint->next_instruction == next);
  CHECK(saved.checkpoint->live.size() == needed.size());
  RunIdentity other = identity;
  other.groups = 0;
  CHECK_THROWS_WITH_AS(read_run(path, party.context, plan, other), doctest::Contains("what its note lists"),
                       Error);
  other = identity, other.request = 5;
  CHECK_THROWS_WITH_AS(read_run(path, party.context, plan, other), doctest::Contains("another run"), Error);
}

TEST_CASE("the bootstrap of a header's parameters, before they are known to be ours") {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/header";
  FuzzTarget target;
  target.name = "bootstrap parameters";
  for (const int log_n : {5, 6}) {
    ParameterSpec spec = insecure_version(secure_n16(), log_n);
    spec.secret_hamming_weight = 16;
    wire::ContainerWriter writer(path, {wire::FileKind::kPublicKey, spec, {}});
    writer.commit();
    target.corpus.push_back(read_file(path, 1 << 20));
  }
  target.repair = wire::repair_container;
  target.marks = wire::container_marks;
  target.decode = [](std::string_view bytes) {
    const wire::ContainerReader reader(ByteSource("input", bytes), wire::FileKind::kPublicKey);
    const Context context(reader.header().spec);
    if (context.can_bootstrap()) BootstrapPlan(context).key_request();
  };
  target.fixed_bytes = size_t{300} << 20;
  run(target, 200);
}

TEST_CASE("a request's checksum covers every limb") {
  ParameterSpec spec = insecure_leveled(4, 2);
  spec.secret_hamming_weight = 8, spec.encapsulation_hamming_weight = 4;
  TestParty party(spec);
  wire::CiphertextFile request;
  request.ciphertexts.push_back(party.encrypt(party.random_slots(1), 2));
  const uint64_t before = checksum_of(request);
  for (RnsPoly& poly : request.ciphertexts[0].c) {
    for (int j = 0; j < poly.limbs(); ++j) {
      poly.limb(j)[3] ^= 1;
      CHECK(checksum_of(request) != before);
      poly.limb(j)[3] ^= 1;
    }
  }
  CHECK(checksum_of(request) == before);
}

}  // namespace
}  // namespace psm
