// Servers that do anything, at every step, played to the real client as bytes: a conversation's frames in a file. The
// client's requests are those of an honest conversation, up to where it stops with an error. Under valgrind
// (client_flow_test) the last case also shows that no time between them depends on what was decrypted.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/server/text_server.h"
#include "cmd/testing/test_text.h"

namespace psm::cmd {
namespace {

constexpr int kPromptTokens = 3, kNewTokens = 3;
constexpr uint64_t kTextNumber = 5;

// What the client has, and what an honest server says to it: the greeting, the answers, the figures.
struct Scene {
  explicit Scene(CompiledFor purpose)
      : path(path_of("model" + std::to_string(static_cast<int>(purpose)))),
        model((compile_text(path, 1, purpose), read_client_file(path + ".client"))),
        secret(ckks::SecretKey::generate(*model.context)) {
    model.file.model.shape.norm_epsilon = 0;  // then the norm of a zero is not a number
    honest.push_back({FrameKind::kReady, note_text(greeting())});
    for (int end = model.takes_prompts() ? kPromptTokens : 1; end < kPromptTokens + kNewTokens; ++end) {
      const int count = model.takes_prompts() && end == kPromptTokens ? end : 1;
      const int first = end - count;
      notes.push_back({{model.id, kTextNumber, names_of(model.outputs(first, 0))}, first, count});
      honest.push_back(answer(notes.size(), Lie()));
    }
    honest.push_back({FrameKind::kFigures, "{}"});
  }

  Greeting greeting() const {
    return {model.id, model.context->fingerprint(), secret.fingerprint().key, 0, 0, 0};
  }
  const std::vector<PlanEnd>& ends_of(size_t step) const { return model.outputs(notes[step - 1].first, 0); }
  bool is_read(size_t step) const { return notes[step - 1].first + notes[step - 1].count >= kPromptTokens; }

  // What of an answer is not as it should be.
  struct Lie {
    std::function<void(TextNote&)> note = [](TextNote&) {};
    std::function<void(ckks::Fingerprint&)> owner = [](ckks::Fingerprint&) {};
    std::function<uint64_t(uint64_t modulus)> residue = [](uint64_t) { return 1; };
    int levels = 0, groups = 1;
    double scale = 1;
  };
  Frame answer(size_t step, const Lie& lie) const {
    const ckks::Context& context = *model.context;
    TextNote note = notes[step - 1];
    lie.note(note);
    ckks::Fingerprint owner = secret.fingerprint();
    lie.owner(owner);
    Frame frame{FrameKind::kAnswer, {}};
    wire::CiphertextWriter writer(&frame.payload, context, owner, note_text(note));
    for (int group = 0; group < lie.groups; ++group) {
      for (const PlanEnd& end : ends_of(step)) {
        const auto level = ckks::Level::at(end.level + lie.levels);
        ckks::Ciphertext made(context.ring(), ckks::Basis{level + 1, 0},
                              ckks::Scale(lie.scale * context.scale(level)), owner);
        for (ckks::RnsPoly& poly : made.c)
          for (int j = 0; j < poly.limbs(); ++j)
            for (size_t i = 0; i < poly.n(); ++i) poly.limb(j)[i] = lie.residue(poly.modulus(j).value);
        writer.write(made);
      }
    }
    writer.commit();
    return frame;
  }

  const std::string path;
  TextModel model;
  const ckks::SecretKey secret;
  std::vector<TextNote> notes;  // of the answers
  std::vector<Frame> honest;
};

using Requests = std::vector<std::pair<FrameKind, size_t>>;  // kinds and sizes, in order

struct Run {
  Requests requests;
  std::string error;
  size_t decrypted = 0, not_numbers = 0;
};

// TextClient as //cmd:generate calls it, which prints each token besides.
void talk(const Scene& scene, Channel& server, Run& run) {
  TextRecord record{
      .text = kTextNumber, .prompt = kPromptTokens, .tokens = {kText.begin(), kText.begin() + kPromptTokens}};
  const TextFolder nowhere("");
  std::optional<TextClient> client;
  run.error = refusal_of([&] {
    client.emplace(scene.model, scene.secret, server, record, nowhere);
    for (int i = 0; i < kNewTokens; ++i) run.not_numbers += std::isnan(client->next().logits[0]);
    client->figures();
  });
  if (client) run.decrypted = client->decrypted();
}

Run play(const Scene& scene, const std::string& bytes) {
  const std::string from = path_of("answers"), to = path_of("requests");
  std::ofstream(from, std::ios::binary) << bytes;
  const auto opened = [](const std::string& path, int flags) {
    return ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  };
  const int in = opened(from, O_RDONLY), out = opened(to, O_RDWR | O_CREAT | O_TRUNC);
  Run run;
  FrameChannel server(in, out, "the server");
  talk(scene, server, run);
  ::lseek(out, 0, SEEK_SET);
  FrameChannel heard(out, in, "the client");
  while (const auto frame = heard.receive(1 << 30))
    run.requests.emplace_back(frame->kind, frame->payload.size());
  ::close(in), ::close(out);
  return run;
}

std::string bytes_of(const Frame& frame) {
  std::vector<uint8_t> head;
  wire::put(head, static_cast<uint32_t>(frame.kind));
  wire::put(head, static_cast<uint64_t>(frame.payload.size()));
  return std::string(head.begin(), head.end()) + frame.payload;
}

// The honest conversation with `said` in place of what comes at a step.
Run play_with(const Scene& scene, size_t step, const std::string& said) {
  std::string bytes;
  for (size_t i = 0; i < scene.honest.size(); ++i) bytes += i == step ? said : bytes_of(scene.honest[i]);
  return play(scene, bytes);
}

void for_both(const std::function<void(const Scene&, const Run& honest)>& check) {
  for (const CompiledFor purpose : {CompiledFor::kText, CompiledFor::kEncryptedWeights}) {
    static std::map<CompiledFor, std::unique_ptr<Scene>> scenes;
    std::unique_ptr<Scene>& scene = scenes[purpose];
    if (!scene) scene = std::make_unique<Scene>(purpose);
    CAPTURE(static_cast<int>(purpose));
    const Run honest = play_with(*scene, scene->honest.size(), "");
    REQUIRE(honest.error == "");
    check(*scene, honest);
  }
}

// It asked what an honest server is asked before this step, and decrypted what it had to.
void check_stopped(const Scene& scene, const Run& honest, const Run& run, size_t step) {
  CHECK(run.error != "");
  CHECK(run.requests ==
        Requests(honest.requests.begin(), honest.requests.begin() + static_cast<ptrdiff_t>(step)));
  size_t decrypted = 0;
  for (size_t i = 1; i < step; ++i) decrypted += scene.is_read(i) ? scene.ends_of(i).size() : 0;
  CHECK(run.decrypted == decrypted);
}

TEST_CASE(
    "the client asks a real server the same, and decrypts only the answers that tokens are picked from") {
  for_both([](const Scene& scene, const Run& honest) {
    CHECK(honest.requests.size() == scene.notes.size() + 1);
    CHECK(honest.decrypted == kNewTokens * scene.model.token_outputs.size());
    if (!scene.model.takes_prompts()) return;  // cmd/conversation_test.cc has that server
    const TextProgram program(program::load_program(scene.path + ".program"));
    const std::string keys_path = path_of("evaluation.keys");
    write_keys(keys_path, *scene.model.context, scene.secret, scene.model.file.keys);
    TextServer server(program, keys_path, "");
    Run run;
    DirectChannel channel(server, [&](const Frame& request, const Frame&) {
      run.requests.emplace_back(request.kind, request.payload.size());
    });
    talk(scene, channel, run);
    CHECK(run.error == "");
    CHECK(run.requests == honest.requests);
    CHECK(run.decrypted == honest.decrypted);
  });
}

TEST_CASE(
    "frames that are missing, cut, too long, of another kind or damaged stop the client at their step") {
  for_both([](const Scene& scene, const Run& honest) {
    std::mt19937_64 random(1);
    for (size_t step = 0; step < scene.honest.size(); ++step) {
      CAPTURE(step);
      const std::string right = bytes_of(scene.honest[step]);
      const auto stops = [&](const char* what, const std::string& said) {
        CAPTURE(what);
        check_stopped(scene, honest, play_with(scene, step, said), step);
      };
      std::string until;
      for (size_t i = 0; i < step; ++i) until += bytes_of(scene.honest[i]);
      for (const size_t left :
           {size_t{0}, size_t{1}, size_t{11}, size_t{12}, right.size() / 2, right.size() - 1})
        check_stopped(scene, honest, play(scene, until + right.substr(0, left)), step);
      std::vector<uint8_t> length;
      wire::put(length, kMaxFigures + 1);
      stops("too long", right.substr(0, 4) + std::string(length.begin(), length.end()));
      stops("endless", right.substr(0, 4) + std::string(7, '\xff') + '\x7f');
      stops("random", bytes_of({scene.honest[step].kind, std::string(right.size(), 'r')}));
      stops("empty", bytes_of({scene.honest[step].kind, ""}));
      stops("refused", bytes_of({FrameKind::kRefused, "no"}));
      for (int kind = 0; kind < 12; ++kind) {
        if (kind == static_cast<int>(scene.honest[step].kind)) continue;
        stops("kind", bytes_of({static_cast<FrameKind>(kind), scene.honest[step].payload}));
      }
      const size_t free = step == 0 ? 8 : 0;  // the window and the next token of no text
      for (int flip = 0; flip < 20; ++flip) {
        std::string damaged = right;
        damaged[random() % (damaged.size() - free)] ^= static_cast<char>(1 << random() % 7);
        stops("damaged", damaged);
      }
      if (step + 1 < scene.honest.size())
        check_stopped(scene, honest, play_with(scene, step, right + right), step + 1);
    }
  });
}

TEST_CASE(
    "greetings of others, and answers that are old, of another text, key pair, program or level stop the "
    "client") {
  for_both([](const Scene& scene, const Run& honest) {
    const std::vector<std::function<void(Greeting&)>> greetings{
        [](Greeting& g) { ++g.program; },
        [](Greeting& g) { ++g.parameters; },
        [](Greeting& g) { ++g.keys; },
        [](Greeting& g) { g.text = kTextNumber + 1; },
        [](Greeting& g) { g.text = kTextNumber, g.next = kPromptTokens + 1; },
        [](Greeting& g) { g.text = kTextNumber, g.next = kPromptTokens, g.window = 1'000'000; }};
    for (const auto& change : greetings) {
      Greeting greeting = scene.greeting();
      change(greeting);
      check_stopped(scene, honest, play_with(scene, 0, bytes_of({FrameKind::kReady, note_text(greeting)})),
                    0);
    }
    const std::vector<Scene::Lie> lies{{.note = [](TextNote& n) { ++n.request; }},
                                       {.note = [](TextNote& n) { ++n.program_id; }},
                                       {.note = [](TextNote& n) { ++n.first; }},
                                       {.note = [](TextNote& n) { ++n.count; }},
                                       {.note = [](TextNote& n) { n.names[0] += "x"; }},
                                       {.note = [](TextNote& n) { n.names.clear(); }},
                                       {.owner = [](ckks::Fingerprint& f) { ++f.key; }},
                                       {.levels = 1},
                                       {.groups = 0},
                                       {.groups = 2},
                                       {.scale = 2}};
    for (size_t step = 1; step + 1 < scene.honest.size(); ++step) {
      CAPTURE(step);
      for (size_t i = 0; i < lies.size(); ++i) {
        CAPTURE(i);
        check_stopped(scene, honest, play_with(scene, step, bytes_of(scene.answer(step, lies[i]))), step);
      }
      for (size_t other = 1; other + 1 < scene.honest.size(); ++other) {
        if (other == step) continue;
        check_stopped(scene, honest, play_with(scene, step, bytes_of(scene.honest[other])), step);
      }
    }
  });
}

TEST_CASE("answers that decrypt to anything, or to no numbers, change no request") {
  for_both([](const Scene& scene, const Run& honest) {
    std::mt19937_64 random(2);
    const std::vector<Scene::Lie> lies{{.residue = [](uint64_t) { return 0; }},
                                       {.residue = [](uint64_t q) { return q - 1; }},
                                       {.residue = [](uint64_t q) { return q / 2; }},
                                       {.residue = [&](uint64_t q) { return random() % q; }}};
    for (size_t i = 0; i < lies.size(); ++i) {
      CAPTURE(i);
      std::string all = bytes_of(scene.honest[0]);
      for (size_t step = 1; step + 1 < scene.honest.size(); ++step) {
        const std::string said = bytes_of(scene.answer(step, lies[i]));
        const Run run = play_with(scene, step, said);
        CHECK(run.error == "");
        CHECK(run.requests == honest.requests);
        CHECK(run.decrypted == honest.decrypted);
        all += said;
      }
      const Run run = play(scene, all + bytes_of(scene.honest.back()));
      CHECK(run.error == "");
      CHECK(run.requests == honest.requests);
      CHECK(run.not_numbers == (i == 0 ? kNewTokens : 0));
    }
  });
}

TEST_CASE("from an answer to the next request no branch and no address depends on what was decrypted") {
  for (const CompiledFor purpose : {CompiledFor::kText, CompiledFor::kEncryptedWeights}) {
    const Scene scene(purpose);
    std::mt19937_64 random(3);
    std::string all;
    for (size_t step = 0; step < scene.honest.size(); ++step)
      all += bytes_of(step == 0 || step + 1 == scene.honest.size()
                          ? scene.honest[step]
                          : scene.answer(step, {.residue = [&](uint64_t q) { return random() % q; }}));
    const Run run = play(scene, all);
    CHECK(run.error == "");
    CHECK(run.requests.size() == scene.notes.size() + 1);
  }
}

}  // namespace
}  // namespace psm::cmd
