// A server and its client in one process, on a ring that offers no security; cmd/generate_test.cc has them in two. The
// weights are the server's, or encrypted; cmd/secret_weights_test.cc looks for those in a server's memory.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/parallel.h"
#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_twin.h"
#include "cmd/generation/client/weight_encryption.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/server/text_server.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/child_process.h"
#include "cmd/protocol/notes.h"
#include "cmd/testing/test_text.h"

namespace psm::cmd {
namespace {

std::string folder(const std::string& name) {
  const std::string path = path_of(name);
  std::filesystem::create_directories(path);
  return path;
}

// What both parties know, and what each has.
struct Parties {
  Parties(const std::string& name, CompiledFor purpose)
      : path(folder(name) + "/model"),
        program((compile_text(path, 1, purpose), program::load_program(path + ".program"))),
        model(read_client_file(path + ".client")),
        secret(ckks::SecretKey::generate(*model.context)),
        files(folder(name)) {
    write_keys(files.evaluation, *model.context, secret, model.file.keys);
    if (purpose != CompiledFor::kEncryptedWeights) return;
    figures = encrypt_weights(files, secret, model);
    model.id = figures.id;
    weights.emplace(files.weights, program);
  }

  // A frame with these tokens of a text.
  Frame request(FrameKind kind, uint64_t text, int first, const std::vector<int>& tokens) const {
    return request_for(model, secret, kind, text, first, tokens);
  }
  const std::string path;
  TextProgram program;
  TextModel model;
  const ckks::SecretKey secret;
  const KeyFiles files;
  WeightFigures figures;
  std::optional<EncryptedWeights> weights;
};

// Those whose server has the weights, and those whose server cannot read them; made once.
Parties& parties() {
  static Parties made("plain", CompiledFor::kText);
  return made;
}
Parties& blind() {
  static Parties made("blind", CompiledFor::kEncryptedWeights);
  return made;
}

// A server that keeps its text in a folder, or nowhere.
struct TestServer : TextServer {
  explicit TestServer(const std::string& state = "", Parties& p = parties())
      : TextServer(p.program, p.files.evaluation, state, nullptr, p.weights ? &*p.weights : nullptr) {}
  std::string answer(const Frame& request) { return reply(request).payload; }
};

// Tokens picked by a client that talks to a server.
std::vector<TextClient::Step> generate(TextRecord& record, int count, Parties& p = parties(),
                                       const std::string& state = "") {
  TestServer server(state, p);
  DirectChannel channel(server);
  const TextFolder nowhere("");
  TextClient client(p.model, p.secret, channel, record, nowhere);
  std::vector<TextClient::Step> steps;
  int runs = 0;
  for (int i = 0; i < count; ++i) {
    const TextClient::Step& step = steps.emplace_back(client.next());
    runs += step.was_prompt ? 1 : step.computed;
  }
  CHECK(client.figures().at("runs", "figures").array("runs").size() == static_cast<size_t>(runs));
  return steps;
}

// With the program in the clear, which must generate the same.
TextComparison compared(const TextRecord& record, const std::vector<TextClient::Step>& steps,
                        const Parties& p = parties()) {
  TextTwin twin(p.path + ".program", p.model);
  TextComparison comparison = compare_text(twin, p.model, record, steps);
  const std::vector<int> generated(record.tokens.begin() + record.prompt, record.tokens.end());
  CHECK(comparison.free_running == generated);
  REQUIRE(comparison.positions.size() == steps.size());
  return comparison;
}

// The deviations of its logits are those that the noise model predicts.
void check_predicted(const TextComparison& comparison) {
  double largest = 0;
  for (const TextComparison::Position& p : comparison.positions) {
    CAPTURE(p.position);
    CHECK(p.predicted_std > 0);
    CHECK(p.max_abs > 0);
    CHECK(p.max_abs < largest_after_draw(kVocab) * p.predicted_std);
    // What follows from that, chance apart: two logits this far apart stay in order (and they are, in this model), and
    // KL is at most an eighth of the square of the errors' range (Hoeffding's lemma).
    CHECK(p.margin > 2 * largest_after_draw(kVocab) * p.predicted_std);
    CHECK(p.same);
    CHECK(p.kl <= p.max_abs * p.max_abs / 2 + 1e-14);
    largest = std::max(largest, p.max_abs / p.predicted_std);
  }
  CHECK(largest > 0.5);  // nor are the predictions far too large
}

TEST_CASE(
    "a text generated encrypted is the clear program's, and its logits are off by the predicted error") {
  TextRecord record{.text = 5, .prompt = 6, .tokens = {kText.begin(), kText.begin() + 6}};
  const std::vector<TextClient::Step> steps = generate(record, 11);  // all places
  CHECK(record.tokens.size() == 17);
  CHECK(steps[0].was_prompt);
  for (size_t i = 1; i < steps.size(); ++i) CHECK(!steps[i].was_prompt);
  check_predicted(compared(record, steps));
}

TEST_CASE("beyond the places the window slides to the last half of them, as the clear program's does") {
  TextRecord record{.text = 5, .prompt = 14, .tokens = {kText.begin(), kText.begin() + 14}};
  record.sampler.temperature = 1.5;
  const std::vector<TextClient::Step> steps = generate(record, 6);  // after 14, 15, 16 and 8, 9, 10 tokens
  for (size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].was_prompt == (i == 0 || i == 3));
    CHECK(steps[i].window == (i < 3 ? 0 : 9));
  }
  const TextComparison comparison = compared(record, steps);
  // More than forty deviations. The sampler's draws have a seed, and none is so near the border of two tokens that such
  // errors move it over: that happens first if the logit of the token picked falls and all others rise.
  constexpr double kMost = 1e-3;
  CHECK(comparison.all.max_abs < kMost);
  for (const TextClient::Step& step : steps) {
    const int picked = record.tokens[step.position];
    std::vector<double> logits = step.logits;
    for (double& z : logits) z += kMost;
    logits[picked] -= 2 * kMost;
    CHECK(record.sampler.pick(logits, step.position) == picked);
  }
}

TEST_CASE("the compiler predicts errors of a prompt and of the token after it") {
  const ckks::Context context(ckks::insecure_version(ckks::secure_n16(), 11));
  const Compiled made = compile_model(PackedModel(small_model(1), context, 1), {}, context,
                                      CompiledFor::kText, path_of("predicted"));
  for (const program::EntryPoint& entry : made.program.entries) {
    CAPTURE(entry.name);
    const Json& about = made.program.about;
    CHECK(about.at("logit_error", "about").at(entry.name, "about").number("logit_error") > 0);
    CHECK(about.at("predicted_errors", "about").at(entry.name, "about").array("errors").size() ==
          static_cast<size_t>(entry.plan.program.value_count()));
    CHECK(about.at("observed_ranges", "about").at(entry.name, "about").array("ranges").size() ==
          2 * entry.plan.program.checks.size());
  }
  CHECK(made.program.entries.size() == 2);
  CHECK(made.client.logit_error > 0);
  // A token's bootstraps are those of the few values that repeat.
  for (const ckks::BootstrapKind& kind : program::bootstrap_kinds(made.program.entries[1].plan))
    CHECK(kind.sparse());
}

TEST_CASE("the program's logits are the polynomial model's") {
  const attention::Checkpoint checkpoint = small_model(1);
  const attention::PolynomialModel model =
      attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
  TextTwin twin(parties().path + ".program", parties().model);
  for (size_t size = 5; size <= kContext; ++size) {
    const std::span<const int> text(kText.data(), size);
    const std::vector<double> expected = attention::polynomial_forward(model, text).logits,
                              found = twin.after(text, false).clear;
    REQUIRE(found.size() == kVocab);
    for (size_t i = 0; i < kVocab; ++i)  // weights are floats in the file
      CHECK(found[i] == doctest::Approx(expected[(size - 1) * kVocab + i]).epsilon(1e-4));
  }
}

TEST_CASE("the twin is told whether a value that leaves its range is an error") {
  for (const bool strict : {false, true}) {
    const std::string bytes = wire::to_bytes(TwinMessage{.strict = strict});
    CHECK(wire::from_bytes<TwinMessage>(bytes, "a message").strict == strict);
  }
}

TEST_CASE("a child whose end the system does not tell has not succeeded, and no exit status is made up") {
  ChildProcess child({"cat"});
  ::signal(SIGCHLD, SIG_IGN);
  CHECK(child.wait() == 1);
  ::signal(SIGCHLD, SIG_DFL);
  CHECK(child.ending() == "'cat' ended; its exit status is not known");
}

TEST_CASE("the server holds the keys of a pass or of a token, never both, and a text does not notice") {
  const TextProgram& d = parties().program;
  const ckks::Chain& chain = d.context->chain();
  const auto held = [](const TestServer& server) { return server.keys().bytes(); };
  TestServer server;
  const size_t prompt_bytes = held(server);
  server.answer(parties().request(FrameKind::kPrompt, 5, 0, {kText.begin(), kText.begin() + 4}));
  CHECK(held(server) == prompt_bytes);
  server.answer(parties().request(FrameKind::kToken, 5, 4, {kText[4]}));
  const size_t token_bytes = held(server);
  const Frame next = parties().request(FrameKind::kToken, 5, 5, {kText[5]});
  const std::string answer = server.answer(next);
  CHECK(held(server) == token_bytes);
  // Some are shared, and keys for higher levels than a run alone would have.
  CHECK(prompt_bytes + token_bytes > d.keys.bytes(chain));
  CHECK(prompt_bytes < 0.9 * static_cast<double>(d.keys.bytes(chain)));
  CHECK(token_bytes < 0.9 * static_cast<double>(d.keys.bytes(chain)));
  CHECK(prompt_bytes >= d.prompt().keys.bytes(chain));
  CHECK(token_bytes >= d.token().keys.bytes(chain));
  // Those of a pass again, and of a token: what the file has.
  wire::EvaluationKeysReader file(parties().files.evaluation, *d.context);
  HeldKeys keys(parties().files.evaluation, *d.context);
  for (const ckks::KeyRequest* request : {&d.prompt().keys, &d.token().keys, &d.keys, &d.token().keys}) {
    keys.hold(*request);
    const ckks::EvaluationKeys fresh = file.load(*request);
    CHECK(keys.keys().bytes() == fresh.bytes());
    CHECK(keys.keys().keys.size() == fresh.keys.size());
  }
  int offset = 1;
  while (d.keys.galois_levels.contains(ckks::galois_element(chain, offset))) ++offset;
  ckks::KeyRequest none;
  none.need_galois(ckks::galois_element(chain, offset), 1);
  CHECK_REFUSED(keys.require(none), "lacks the key");
}

TEST_CASE("answers are the same for any number of threads, and after a server was started anew") {
  const Frame prompt = parties().request(FrameKind::kPrompt, 5, 0, {kText.begin(), kText.begin() + 4});
  std::vector<Frame> tokens;
  for (int t = 4; t < 8; ++t) tokens.push_back(parties().request(FrameKind::kToken, 5, t, {kText[t]}));
  const int threads = thread_count();
  set_thread_count(1);
  std::vector<std::string> expected;
  {
    TestServer server;
    expected.push_back(server.answer(prompt));
    for (const Frame& token : tokens) expected.push_back(server.answer(token));
  }
  set_thread_count(3);
  const std::string state = path_of("state");
  std::vector<std::string> found;
  found.push_back(TestServer(state).answer(prompt));
  for (const Frame& token : tokens) {
    TestServer server(state);  // each token has a server of its own
    CHECK(server.kept().next() == 4 + static_cast<int>(found.size()) - 1);
    CHECK(server.answer({FrameKind::kRepeat, {}}) == found.back());
    found.push_back(server.answer(token));
  }
  set_thread_count(threads);
  CHECK(found == expected);
}

TEST_CASE(
    "a token twice, a gap, another text or key pair and too many tokens are refused, and nothing is lost") {
  const Parties& p = parties();
  TestServer server;
  CHECK_REFUSED(server.reply({FrameKind::kRepeat, {}}), "no answer yet");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 5, 4, {1})), "before any prompt");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kPrompt, 5, 3, {1})), "from token 3 on");
  server.answer(p.request(FrameKind::kPrompt, 5, 0, {1, 2, 3}));
  const std::string answer = server.answer({FrameKind::kRepeat, {}});
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 5, 2, {1})),
                "token 2 was computed already; the next one is 3");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 5, 4, {1})),
                "token 4 leaves a gap; the next one is 3");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 6, 3, {1})), "another text");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kPrompt, 6, 0, {1})), "another text");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kPrompt, 5, 0, {1})), "from token 0 on");
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 5, 3, {1, 2})), "one at a time");
  const ckks::SecretKey other = ckks::SecretKey::generate(*p.model.context);
  CHECK_REFUSED(server.reply(request_for(p.model, other, FrameKind::kToken, 5, 3, {1})), "another key pair");
  TextModel other_model = p.model;
  ++other_model.id;
  CHECK_REFUSED(server.reply(request_for(other_model, p.secret, FrameKind::kToken, 5, 3, {1})),
                "another program");
  Frame damaged = p.request(FrameKind::kToken, 5, 3, {1});
  damaged.payload[damaged.payload.size() / 2] ^= 1;
  CHECK_REFUSED(server.reply(damaged), "damaged");
  damaged.payload.resize(1000);
  CHECK_REFUSED(server.reply(damaged), "truncated");
  CHECK_REFUSED(server.reply({FrameKind::kToken, "no file"}), "the request");
  CHECK_REFUSED(server.reply({FrameKind::kAnswer, ""}), "only a server sends");
  CHECK(server.answer({FrameKind::kRepeat, {}}) == answer);
  for (int t = 3; t < kContext; ++t) server.answer(p.request(FrameKind::kToken, 5, t, {kText[t]}));
  CHECK_REFUSED(server.reply(p.request(FrameKind::kToken, 5, kContext, {1})), "all 16 places");
  server.answer(p.request(FrameKind::kPrompt, 5, 8, {kText.begin(), kText.begin() + 8}));
  CHECK(server.kept().window() == 8);
  CHECK(server.kept().next() == 16);
}

TEST_CASE("what a folder keeps of another program or key pair, or in a file that was cut, is refused") {
  const Parties& p = parties();
  const std::string state = path_of("kept");
  TestServer(state).answer(p.request(FrameKind::kPrompt, 5, 0, {1, 2, 3}));
  TextModel other_model = p.model;
  ++other_model.id;
  CHECK_REFUSED(KeptText(state, other_model, p.secret.fingerprint()), "another program");
  ckks::Fingerprint other = p.secret.fingerprint();
  ++other.key;
  CHECK_REFUSED(KeptText(state, p.program, other), "another key pair");
  const std::string path = state + "/text.ct";
  std::string bytes = read_file(path, 1 << 28);
  bytes.resize(bytes.size() - 100);
  write_file(path, bytes);
  CHECK_REFUSED(TestServer{state}, "truncated");
}

TEST_CASE("weights are encoded once, and not again from token to token") {
  const Parties& p = parties();
  TestServer server;
  server.answer(p.request(FrameKind::kPrompt, 5, 0, {1, 2, 3}));
  for (int t = 3; t < 6; ++t) server.answer(p.request(FrameKind::kToken, 5, t, {kText[t]}));
  const Json figures = parse_json(server.answer({FrameKind::kFigures, {}}), "figures");
  const Json::Array& runs = figures.at("runs", "figures").array("runs");
  REQUIRE(runs.size() == 4);
  const auto encoded = [&](size_t i) { return runs[i].at("encoded_bytes", "run").number("run"); };
  CHECK(encoded(1) > 0.5 * p.program.token_reading.plaintext_bytes);  // but for the position's
  CHECK(encoded(1) < p.program.token_reading.plaintext_bytes);
  CHECK(encoded(2) == encoded(1));
  CHECK(encoded(3) == encoded(1));
}

TEST_CASE("a text of weights that the server cannot read is the clear model's, up to the predicted error") {
  TextRecord record{.text = 5, .prompt = 4, .tokens = {kText.begin(), kText.begin() + 4}};
  const std::vector<TextClient::Step> steps = generate(record, 8, blind());
  CHECK(steps[0].computed == 4);
  for (size_t i = 0; i < steps.size(); ++i) CHECK(!steps[i].was_prompt);
  check_predicted(compared(record, steps, blind()));
  // Those of the program that has its weights.
  TextTwin twin(blind().path + ".program", blind().model), same(parties().path + ".program", parties().model);
  for (size_t size = 3; size < 8; ++size) {
    const std::span<const int> text(kText.data(), size);
    const std::vector<double> a = same.after(text, false).clear, b = twin.after(text, false).clear;
    for (size_t i = 0; i < kVocab; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-6));
  }
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
  for_each_parameter(checkpoint.weights, [](const std::string&, std::vector<float>& weights, int, int) {
    for (float& w : weights) w = w / 2 + 0.25f;
  });
  for (double& range : checkpoint.ranges->residual) range *= 1.5;
  CHECK(compiled("other") == program);
}

TEST_CASE("a prompt that stopped within goes on, and so does a text") {
  const std::vector<int> begun{kText.begin(), kText.begin() + 5};
  TextRecord whole{.text = 5, .prompt = 5, .tokens = begun}, parts = whole;
  generate(whole, 3, blind());
  const std::string state = path_of("within");
  {
    TestServer server(state, blind());
    for (int t = 0; t < 2; ++t) server.answer(blind().request(FrameKind::kToken, 5, t, {kText[t]}));
  }
  const std::vector<TextClient::Step> first = generate(parts, 1, blind(), state);
  CHECK(first[0].computed == 3);
  generate(parts, 2, blind(), state);
  CHECK(parts.tokens == whole.tokens);
}

TEST_CASE("a prompt at once, a gap and what was computed already are refused") {
  TestServer server("", blind());
  const auto token = [](int first) { return blind().request(FrameKind::kToken, 5, first, {1}); };
  CHECK_REFUSED(server.reply({FrameKind::kPrompt, token(0).payload}), "one by one");
  CHECK_REFUSED(server.reply(token(1)), "token 1 leaves a gap; the next one is 0");
  server.reply(token(0));
  CHECK_REFUSED(server.reply(token(0)), "computed already");
  CHECK_REFUSED(server.reply({FrameKind::kPrompt, token(1).payload}), "one by one");
  CHECK(server.kept().next() == 1);
}

TEST_CASE("weights of another key pair, another model or another shape are refused") {
  const Parties& p = blind();
  const ckks::SecretKey other = ckks::SecretKey::generate(*p.model.context);
  CHECK_REFUSED(encrypted_weights_in(p.files, other, p.model), "another key pair than the client's");
  TextModel other_model = p.model;
  ++other_model.file.id;
  CHECK_REFUSED(encrypted_weights_in(p.files, p.secret, other_model), "another model");
  CHECK(encrypted_weights_in(p.files, p.secret, p.model) == p.figures.id);
  CHECK(!encrypted_weights_in(KeyFiles(folder("none")), p.secret, p.model));

  TextProgram program(program::load_program(p.path + ".program"));
  CHECK_REFUSED(EncryptedWeights(p.files.weights, program).read(other.fingerprint()),
                "one party must own model and data");
  CHECK(program.id == p.figures.id);
  program.weights.pop_back();
  CHECK_REFUSED(EncryptedWeights(p.files.weights, program), "does not hold the weights");
  program.weights.clear();
  CHECK_REFUSED(EncryptedWeights(p.files.weights, program), "leave --weights out");
  TextProgram other_program(program::load_program(parties().path + ".program"));
  other_program.weights = p.model.weights;
  CHECK_REFUSED(EncryptedWeights(p.files.weights, other_program), "another program");
  CHECK_REFUSED(parse_note<WeightNote>(note_text(CiphertextNote()), "text.ct"),
                "text.ct: it is no note of a model's weights");
  CHECK_THROWS_AS(parse_note<WeightNote>(note_text(WeightNote()).substr(0, 12), "w"), Error);

  const KeyFiles lost(folder("lost"));
  std::filesystem::copy(p.files.weights, lost.weights);
  CHECK_REFUSED(encrypted_weights_in(lost, p.secret, p.model), "weights.owner is missing");
}

}  // namespace
}  // namespace psm::cmd
