// Weights that the server cannot read: owner and server in one process, on a ring that offers no security.
// cmd/secret_weights_test.cc has them in two, and looks for the weights in the server's memory.
#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_twin.h"
#include "cmd/generation/client/weight_encryption.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/server/text_server.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/group_files.h"
#include "cmd/testing/test_text.h"

namespace psm::cmd {
namespace {

std::string folder(const std::string& name) {
  const std::string path = path_of(name);
  std::filesystem::create_directories(path);
  return path;
}

// One who owns model and data; made once.
struct Owner {
  Owner()
      : path(folder("owner") + "/model"),
        model((compile_text(path, 1, CompiledFor::kEncryptedWeights), read_client_file(path + ".client"))),
        secret(ckks::SecretKey::generate(*model.context)),
        files(folder("owner")),
        figures(encrypt_weights(files, secret, model)) {
    write_keys(files.evaluation, *model.context, secret, model.file.keys);
    model.id = figures.id;
  }

  const std::string path;
  TextModel model;
  const ckks::SecretKey secret;
  const KeyFiles files;
  const WeightFigures figures;
};

const Owner& owner() {
  static const Owner made;
  return made;
}

// Has the program, the weights and the evaluation keys, and nothing else.
struct BlindServer {
  explicit BlindServer(const std::string& state = "")
      : program(program::load_program(owner().path + ".program")),
        weights(owner().files.weights, program),
        server(program, owner().files.evaluation, state, nullptr, &weights) {}

  TextProgram program;
  EncryptedWeights weights;
  TextServer server;
};

std::vector<TextClient::Step> generate(TextRecord& record, int count, const std::string& state = "") {
  BlindServer server(state);
  DirectChannel channel(server.server);
  const TextFolder nowhere("");
  TextClient client(owner().model, owner().secret, channel, record, nowhere);
  std::vector<TextClient::Step> steps;
  for (int i = 0; i < count; ++i) steps.push_back(client.next());
  return steps;
}

TEST_CASE("a text of weights that the server cannot read is the clear model's, up to the predicted error") {
  TextRecord record{.text = 5, .prompt = 4, .tokens = {kText.begin(), kText.begin() + 4}};
  const std::vector<TextClient::Step> steps = generate(record, 8);
  CHECK(steps[0].computed == 4);
  for (size_t i = 0; i < steps.size(); ++i) CHECK(!steps[i].was_prompt);
  TextTwin twin(owner().path + ".program", owner().model);
  const TextComparison comparison = compare_text(twin, owner().model, record, steps);
  REQUIRE(comparison.positions.size() == 8);
  for (const TextComparison::Position& p : comparison.positions) {
    CAPTURE(p.position);
    CHECK(p.max_abs > 0);
    CHECK(p.max_abs < largest_after_draw(kVocab) * p.predicted_std);
    CHECK(p.margin > 2 * largest_after_draw(kVocab) * p.predicted_std);  // chance apart, the same follows
    CHECK(p.same);
  }
  const std::vector<int> generated(record.tokens.begin() + 4, record.tokens.end());
  CHECK(comparison.free_running == generated);
  // Those of the program that has its weights.
  const std::string plain = folder("plain") + "/model";
  compile_text(plain, 1);
  const TextModel with_weights(read_client_file(plain + ".client"));
  TextTwin same(plain + ".program", with_weights);
  for (size_t size = 3; size < 8; ++size) {
    const std::span<const int> text(kText.data(), size);
    const std::vector<double> a = same.after(text, false).clear, b = twin.after(text, false).clear;
    for (size_t i = 0; i < kVocab; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-6));
  }
}

TEST_CASE("the file of weights has a seed in place of half of each ciphertext") {
  const Owner& o = owner();
  CHECK(o.figures.count == o.model.weights.size());
  CHECK(static_cast<double>(o.figures.file_bytes) <
        0.55 * static_cast<double>(group_bytes(*o.model.context, o.model.weights)));
  wire::CiphertextReader file(o.files.weights, *o.model.context, kMaxWeights);
  for (const auto& head : file.heads()) CHECK(head.seeded);
  CHECK(std::filesystem::status(o.files.weights_owner).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("a program with encrypted weights is the same file for other weights with these intervals") {
  const ckks::Context context(ckks::insecure_version(ckks::secure_n16(), 11));
  attention::Checkpoint checkpoint = small_model(1);
  const auto compiled = [&](const std::string& name) {
    const std::string path = folder("same") + "/" + name;
    compile_model(PackedModel(checkpoint, context, 1), {}, context, CompiledFor::kEncryptedWeights, path);
    return read_file(path + ".program", 1 << 26);
  };
  const std::string program = compiled("one");
  for (attention::LayerWeights& layer : checkpoint.weights.layers)
    for (float& w : layer.wq) w = -w;
  for (double& range : checkpoint.ranges->residual) range *= 1.5;
  CHECK(compiled("other") == program);
}

TEST_CASE("a prompt that stopped within goes on, and so does a text") {
  const std::vector<int> begun{kText.begin(), kText.begin() + 5};
  TextRecord whole{.text = 5, .prompt = 5, .tokens = begun}, parts = whole;
  generate(whole, 3);
  const std::string state = folder("state");
  {
    BlindServer server(state);
    for (int t = 0; t < 2; ++t)
      server.server.reply(request_for(owner().model, owner().secret, FrameKind::kToken, 5, t, {kText[t]}));
  }
  const std::vector<TextClient::Step> first = generate(parts, 1, state);
  CHECK(first[0].computed == 3);
  generate(parts, 2, state);
  CHECK(parts.tokens == whole.tokens);
}

TEST_CASE("a prompt at once, a gap and what was computed already are refused") {
  BlindServer server;
  const auto token = [&](int first) {
    return request_for(owner().model, owner().secret, FrameKind::kToken, 5, first, {1});
  };
  CHECK_REFUSED(server.server.reply({FrameKind::kPrompt, token(0).payload}), "one by one");
  CHECK_REFUSED(server.server.reply(token(1)), "token 1 leaves a gap; the next one is 0");
  server.server.reply(token(0));
  CHECK_REFUSED(server.server.reply(token(0)), "computed already");
  CHECK_REFUSED(server.server.reply({FrameKind::kPrompt, token(1).payload}), "one by one");
  CHECK(server.server.kept().next() == 1);
}

TEST_CASE("weights of another key pair, another model or another shape are refused") {
  const Owner& o = owner();
  const ckks::SecretKey other = ckks::SecretKey::generate(*o.model.context);
  CHECK_REFUSED(encrypted_weights_in(o.files, other, o.model), "another key pair than the client's");
  TextModel other_model = o.model;
  ++other_model.file.id;
  CHECK_REFUSED(encrypted_weights_in(o.files, o.secret, other_model), "another model");
  CHECK(encrypted_weights_in(o.files, o.secret, o.model) == o.figures.id);
  CHECK(!encrypted_weights_in(KeyFiles(folder("none")), o.secret, o.model));

  TextProgram program(program::load_program(o.path + ".program"));
  CHECK_REFUSED(EncryptedWeights(o.files.weights, program).read(other.fingerprint()),
                "one party must own model and data");
  CHECK(program.id == o.figures.id);
  program.weights.pop_back();
  CHECK_REFUSED(EncryptedWeights(o.files.weights, program), "does not hold the weights");
  program.weights.clear();
  CHECK_REFUSED(EncryptedWeights(o.files.weights, program), "leave --weights out");
  const std::string plain = folder("others") + "/model";
  compile_text(plain, 1);
  TextProgram other_program(program::load_program(plain + ".program"));
  other_program.weights = o.model.weights;
  CHECK_REFUSED(EncryptedWeights(o.files.weights, other_program), "another program");
  CHECK_REFUSED(parse_note<WeightNote>(note_text(CiphertextNote()), "text.ct"),
                "text.ct: it is no note of a model's weights");
  CHECK_THROWS_AS(parse_note<WeightNote>(note_text(WeightNote()).substr(0, 12), "w"), Error);

  const KeyFiles lost(folder("lost"));
  std::filesystem::copy(o.files.weights, lost.weights);
  CHECK_REFUSED(encrypted_weights_in(lost, o.secret, o.model), "weights.owner is missing");
}

}  // namespace
}  // namespace psm::cmd
