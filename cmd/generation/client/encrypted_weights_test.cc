// Weights that the server cannot read: owner and server in one process, on a ring that offers no security.
// cmd/secret_weights_test.cc has them in two, and looks for the weights in the server's memory.
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/chance.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_comparison.h"
#include "cmd/generation/client/weight_encryption.h"
#include "cmd/generation/testing/test_text.h"
#include "cmd/generation/text_server.h"
#include "cmd/generation/weight_file.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kWeights = 77;  // their number

std::string folder(const std::string& name) {
  const std::string path = (std::filesystem::path(std::getenv("TEST_TMPDIR")) / name).string();
  std::filesystem::create_directories(path);
  return path;
}

// One who owns model and data; made once.
struct Owner {
  Owner()
      : deployment(small_model(1),
                   std::make_shared<const ckks::Context>(ckks::insecure_version(ckks::secure_n16(), 11)),
                   kWeights),
        secret(ckks::SecretKey::generate(*deployment.context)),
        files(folder("owner")),
        figures(encrypt_weights(files, secret, deployment)) {
    write_keys(files.evaluation, *deployment.context, secret, deployment.keys);
  }

  const GenerationDeployment deployment;
  const ckks::SecretKey secret;
  const KeyFiles files;
  const WeightFigures figures;
};

const Owner& owner() {
  static const Owner made;
  return made;
}

// Has the two files and nothing else.
struct BlindServer {
  explicit BlindServer(const std::string& state = "")
      : file(owner().files.weights, *owner().deployment.context, kMaxWeights),
        note(WeightNote::parse(file.note(), "weights")),
        plans(owner().deployment.context, note.id, note.outline),
        key_file(owner().files.evaluation, *owner().deployment.context),
        keys(key_file, *owner().deployment.context),
        weights((require_weights(file, note, plans, key_file.fingerprint(), "weights"),
                 read_weights(file, note))),
        kept(state, plans, key_file.fingerprint()),
        server(plans, keys, kept, nullptr, &weights) {}

  wire::CiphertextReader file;
  WeightNote note;
  GenerationPlans plans;
  wire::EvaluationKeysReader key_file;
  HeldKeys keys;
  Ciphertexts weights;
  KeptText kept;
  TextServer server;
};

std::vector<TextClient::Step> generate(TextRecord& record, int count, const std::string& state = "") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  std::thread thread([&] {
    BlindServer server(state);
    FrameChannel channel(ends[1], ends[1], "the client");
    server.server.serve(channel);
  });
  std::vector<TextClient::Step> steps;
  {
    FrameChannel channel(ends[0], ends[0], "the server");
    const TextFolder nowhere("");
    TextClient client(owner().deployment, owner().secret, channel, record, nowhere);
    for (int i = 0; i < count; ++i) steps.push_back(client.next());
  }
  ::shutdown(ends[0], SHUT_WR);
  thread.join();
  ::close(ends[0]);
  ::close(ends[1]);
  return steps;
}

TEST_CASE("a text of weights that the server cannot read is the clear model's, up to the predicted error") {
  TextRecord record{.text = 5, .prompt = 4, .tokens = {kText.begin(), kText.begin() + 4}};
  const std::vector<TextClient::Step> steps = generate(record, 8);
  CHECK(steps[0].computed == 4);
  for (size_t i = 0; i < steps.size(); ++i) CHECK(!steps[i].was_prompt);
  const TextComparison comparison = compare_text(owner().deployment, record.tokens, steps, true);
  REQUIRE(comparison.positions.size() == 8);
  for (const TextComparison::Position& p : comparison.positions) {
    CAPTURE(p.position);
    CHECK(p.max_abs > 0);
    CHECK(p.max_abs < largest_laplace(kVocab) * p.predicted_std);
    if (p.clear()) CHECK(p.same);
  }
  CHECK(clear_continuation(owner().deployment.model, {kText.begin(), kText.begin() + 4}, 8, {}) ==
        std::vector<int>(record.tokens.begin() + 4, record.tokens.end()));
}

TEST_CASE(
    "the file of weights has a seed in place of half of each ciphertext, and its note nothing of them") {
  const Owner& o = owner();
  CHECK(o.figures.count == o.deployment.weight_names.size());
  CHECK(static_cast<double>(o.figures.file_bytes) < 0.55 * static_cast<double>(o.deployment.weight_bytes()));
  wire::CiphertextReader file(o.files.weights, *o.deployment.context, kMaxWeights);
  for (const auto& head : file.heads()) CHECK(head.seeded);
  // Of another model with this outline the note would be the same.
  attention::PolynomialModel other = o.deployment.model;
  for (attention::LayerWeights& layer : other.weights.layers)
    for (float& w : layer.wq) w = -w;
  const WeightNote note{kWeights, attention::outline_of(other), o.deployment.weight_names};
  CHECK(note.text() == file.note());
  CHECK(std::filesystem::status(o.files.weights_owner).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("a prompt that stopped within goes on, and so does a text") {
  const std::vector<int> begun{kText.begin(), kText.begin() + 5};
  TextRecord whole{.text = 5, .prompt = 5, .tokens = begun}, parts = whole;
  generate(whole, 3);
  const std::string state = folder("state");
  {
    BlindServer server(state);
    for (int t = 0; t < 2; ++t)
      server.server.reply(
          request_for(owner().deployment, owner().secret, FrameKind::kToken, 5, t, {kText[t]}));
  }
  const std::vector<TextClient::Step> first = generate(parts, 1, state);
  CHECK(first[0].computed == 3);
  generate(parts, 2, state);
  CHECK(parts.tokens == whole.tokens);
}

TEST_CASE("a prompt at once, a gap and what was computed already are refused") {
  BlindServer server;
  const auto refused = [&](const Frame& request, const char* why) {
    CAPTURE(why);
    CHECK_THROWS_WITH_AS(server.server.reply(request), doctest::Contains(why), Error);
  };
  const auto token = [&](int first) {
    return request_for(owner().deployment, owner().secret, FrameKind::kToken, 5, first, {1});
  };
  refused({FrameKind::kPrompt, token(0).payload}, "one by one");
  refused(token(1), "token 1 leaves a gap; the next one is 0");
  server.server.reply(token(0));
  refused(token(0), "computed already");
  refused({FrameKind::kPrompt, token(1).payload}, "one by one");
  CHECK(server.kept.next() == 1);
}

TEST_CASE("weights of another key pair, another model or another shape are refused") {
  const Owner& o = owner();
  const ckks::SecretKey other = ckks::SecretKey::generate(*o.deployment.context);
  CHECK_THROWS_WITH_AS(encrypted_weights_in(o.files, other, o.deployment.model_fingerprint),
                       doctest::Contains("another key pair than the client's"), Error);
  CHECK_THROWS_WITH_AS(encrypted_weights_in(o.files, o.secret, o.deployment.model_fingerprint + 1),
                       doctest::Contains("another model"), Error);
  CHECK(encrypted_weights_in(o.files, o.secret, o.deployment.model_fingerprint) == kWeights);
  CHECK(!encrypted_weights_in(KeyFiles(folder("none")), o.secret, o.deployment.model_fingerprint));

  wire::CiphertextReader file(o.files.weights, *o.deployment.context, kMaxWeights);
  WeightNote note = WeightNote::parse(file.note(), "weights");
  CHECK_THROWS_WITH_AS(require_weights(file, note, o.deployment, other.fingerprint(), "weights"),
                       doctest::Contains("one party must own model and data"), Error);
  note.names.pop_back();
  CHECK_THROWS_WITH_AS(require_weights(file, note, o.deployment, o.secret.fingerprint(), "weights"),
                       doctest::Contains("does not hold the weights"), Error);
  CHECK_THROWS_WITH_AS(WeightNote::parse("{}", "text.ct"), doctest::Contains("no weights of a model"), Error);
  CHECK_THROWS_AS(WeightNote::parse(R"({"weights":"00000000000000aa","outline":{},"names":[]})", "w"), Error);

  const KeyFiles lost(folder("lost"));
  std::filesystem::copy(o.files.weights, lost.weights);
  CHECK_THROWS_WITH_AS(encrypted_weights_in(lost, o.secret, o.deployment.model_fingerprint),
                       doctest::Contains("weights.json is missing"), Error);
}

}  // namespace
}  // namespace psm::cmd
