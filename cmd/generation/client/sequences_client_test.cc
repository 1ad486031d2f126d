// Several texts in step, client and server in one process, on a ring that offers no security.
#include "cmd/generation/client/sequences_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "ckks/base/error.h"
#include "cmd/deployment/comparison.h"
#include "cmd/generation/testing/test_text.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

struct Parties {
  Parties()
      : deployment(small_model(1),
                   std::make_shared<const ckks::Context>(ckks::insecure_version(ckks::secure_n16(), 11)),
                   Sequences{4}),
        secret(ckks::SecretKey::generate(*deployment.context)),
        key_file((std::filesystem::path(std::getenv("TEST_TMPDIR")) / "evaluation.keys").string()) {
    write_keys(key_file, *deployment.context, secret, deployment.keys);
  }
  const GenerationDeployment deployment;
  const ckks::SecretKey secret;
  const std::string key_file;
};

const Parties& parties() {
  static const Parties made;
  return made;
}

// `use` a client whose server is in another thread.
template <typename Use>
void converse(const std::vector<std::vector<int>>& prompts, const Use& use) {
  const GenerationDeployment& d = parties().deployment;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  std::thread thread([&] {
    wire::EvaluationKeysReader file(parties().key_file, *d.context);
    HeldKeys keys(file, *d.context);
    KeptText kept("", d, file.fingerprint());
    TextServer server(d, keys, kept);
    FrameChannel channel(ends[1], ends[1], "the client");
    server.serve(channel);
  });
  try {
    FrameChannel channel(ends[0], ends[0], "the server");
    SequencesClient client(d, parties().secret, channel, 5, prompts, {});
    use(client);
  } catch (...) {
    ::shutdown(ends[0], SHUT_WR);
    thread.join();
    throw;
  }
  ::shutdown(ends[0], SHUT_WR);
  thread.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE(
    "texts in step go on as the clear model goes on with each of them, whatever their prompts' lengths") {
  const GenerationDeployment& d = parties().deployment;
  REQUIRE(d.tokens() == kContext);
  const std::vector<std::vector<int>> prompts{{1, 7, 3, 12, 0}, {5, 2}, {9, 4, 11}};  // of four
  converse(prompts, [&](SequencesClient& client) {
    std::vector<SequencesClient::Step> steps;
    while (client.position() < kContext) steps.push_back(client.next());
    CHECK_THROWS_WITH_AS(client.next(), doctest::Contains("places"), Error);
    for (size_t u = 0; u < prompts.size(); ++u) {
      CAPTURE(u);
      std::vector<int> text = client.texts()[u];
      CHECK(text.size() == kContext + 1);
      CHECK(std::equal(prompts[u].begin(), prompts[u].end(), text.begin()));
      text.pop_back();  // picked, and not computed on
      const std::vector<double> clear = attention::polynomial_forward(d.model, text).logits;
      for (size_t t = 0; t < text.size(); ++t) {
        CAPTURE(t);
        const std::span<const double> row = std::span(clear).subspan(t * kVocab, kVocab);
        const PositionComparison at = compare_position(row, steps[t].logits[u]);
        CHECK(at.max_abs > 0);
        CHECK(at.max_abs < 0.01);
        if (at.margin > 0.02) CHECK(at.same);
        if (t + 1 >= prompts[u].size()) CHECK(client.texts()[u][t + 1] == argmax(steps[t].logits[u]));
      }
    }
    const Json figures = client.figures();
    CHECK(figures.at("runs", "f").array("runs").size() == static_cast<size_t>(kContext));
    const auto cached = static_cast<size_t>(figures.at("cache_bytes", "f").number("cache_bytes"));
    CHECK(cached == d.cache_bytes());
  });
}

TEST_CASE("prompts that are none, too long or too many, and numbers of sequences that are none are refused") {
  const auto never = [](SequencesClient&) { FAIL("it was taken"); };
  CHECK_THROWS_WITH_AS(converse({}, never), doctest::Contains("0 prompts"), Error);
  CHECK_THROWS_WITH_AS(converse(std::vector<std::vector<int>>(5, {1}), never), doctest::Contains("5 prompts"),
                       Error);
  CHECK_THROWS_WITH_AS(converse({{}}, never), doctest::Contains("0 tokens"), Error);
  CHECK_THROWS_WITH_AS(converse({std::vector<int>(kContext + 1, 1)}, never), doctest::Contains("17 tokens"),
                       Error);
  for (const int count : {3, 256})
    CHECK_THROWS_WITH_AS(GenerationDeployment(small_model(1), parties().deployment.context, Sequences{count}),
                         doctest::Contains("at most 128"), Error);
}

TEST_CASE("a server of another number of sequences has another model, and refuses prompts at once") {
  const GenerationDeployment& d = parties().deployment;
  const GenerationDeployment two(small_model(1), d.context, Sequences{2});
  CHECK(two.model_id != d.model_id);
  wire::EvaluationKeysReader file(parties().key_file, *d.context);
  HeldKeys keys(file, *d.context);
  KeptText kept("", d, file.fingerprint());
  TextServer server(d, keys, kept);
  const Frame token = request_for(two, parties().secret, FrameKind::kToken, 5, 0, {1});
  CHECK_THROWS_WITH_AS(server.reply(token), doctest::Contains("model"), Error);
  const Frame own = request_for(d, parties().secret, FrameKind::kToken, 5, 0, {1});
  CHECK_THROWS_WITH_AS(server.reply({FrameKind::kPrompt, own.payload}), doctest::Contains("one by one"),
                       Error);
  CHECK(server.reply(own).kind == FrameKind::kAnswer);
  CHECK_THROWS_WITH_AS(server.reply(own), doctest::Contains("computed already"), Error);
}

}  // namespace
}  // namespace psm::cmd
