// A small model of random weights, a text, and its requests. For tests of conversations in one process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/wire/testing/ciphertext_files.h"
#include "cmd/client/client_file.h"
#include "cmd/client/encoding.h"
#include "cmd/compiler/compile.h"
#include "cmd/generation/client/text_model.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/server/text_server.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {

constexpr int kContext = 16, kVocab = 13;
inline const std::vector<int> kText{1, 7, 3, 12, 0, 5, 5, 2, 9, 4, 11, 6, 8, 10, 1, 3};

inline attention::Checkpoint small_model(uint64_t seed) {
  attention::ModelConfig config = attention::small_config(16, 2, 32);
  config.epsilon = 0.2;
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(config, seed);
  checkpoint.ranges =
      attention::measure_ranges(checkpoint.weights, attention::small_data(config, 64).examples());
  checkpoint.polynomial = attention::PolynomialOptions{.margin = 2};
  return checkpoint;
}

// The model's program and client file, PATH.program and PATH.client, in a ring that offers no security.
inline void compile_text(const std::string& path, uint64_t seed, CompiledFor purpose = CompiledFor::kText) {
  const ckks::Context context(ckks::insecure_version(ckks::secure_n16(), 11));
  compile_model(PackedModel(small_model(seed), context, 1), {}, context, purpose, path, false);
}

// A file of new evaluation keys.
inline void write_keys(const std::string& path, const ckks::Context& context, const ckks::SecretKey& secret,
                       const ckks::KeyRequest& request) {
  wire::write_evaluation_keys(path, context, ckks::KeyGenerator(secret).evaluation_keys(request));
}

// A frame with these tokens of a text.
inline Frame request_for(const TextModel& d, const ckks::SecretKey& secret, FrameKind kind, uint64_t text,
                         int first, const std::vector<int>& tokens) {
  const std::vector<PlanEnd> ends = kind == FrameKind::kPrompt ? d.prompt_inputs : d.token_inputs;
  const TextNote note{{d.id, text, names_of(ends)}, first, static_cast<int>(tokens.size())};
  const ckks::Encoder encoder(*d.context);
  ckks::SeededEncryptor encryptor(secret);
  Frame frame{kind, {}};
  wire::CiphertextWriter writer(&frame.payload, *d.context, secret.fingerprint(), note_text(note));
  const std::vector<std::vector<int>> one{tokens};
  for (const auto& p : encode_inputs(encoder, ends, attention::client_inputs(d.file.model, one)))
    writer.write(encryptor.encrypt(p));
  writer.commit();
  return frame;
}

// A client's way to a server in its own process.
class DirectChannel final : public Channel {
 public:
  using Watch = std::function<void(const Frame& request, const Frame& answer)>;
  // `watch` sees each request with its answer. The server outlives the object.
  explicit DirectChannel(TextServer& server, Watch watch = {})
      : server_(server),
        watch_(std::move(watch)),
        answer_(Frame{FrameKind::kReady, note_text(server.greeting())}) {}
  void send(FrameKind kind, std::string_view payload) override {
    const Frame request{kind, std::string(payload)};
    answer_ = server_.reply_or_refuse(request);
    if (watch_) watch_(request, *answer_);
  }
  std::optional<Frame> receive(uint64_t) override { return std::exchange(answer_, std::nullopt); }
  std::string gone() const override { return "the server has nothing more to say"; }

 private:
  TextServer& server_;
  Watch watch_;
  std::optional<Frame> answer_;
};

}  // namespace psm::cmd
