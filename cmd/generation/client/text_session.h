// Runs a client and its server process for some tokens of a text, and collects their times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"

namespace psm::cmd {

// Returns 0 if there are no values.
double median(std::vector<double> values);

struct TextSession {
  std::vector<TextClient::Step> steps;
  // The client's seconds of steps on prompts, whole passes or token by token, and of steps on one token.
  std::vector<double> prompt_seconds, token_seconds;
  // The server's seconds of passes and of single tokens, without the encoding of weights.
  std::vector<double> passes, tokens;
  int64_t peak_bytes = 0, cache_bytes = 0, bootstraps_per_token = 0,
          bootstraps_per_prompt = 0;  // of the server
  size_t decrypted = 0;               // ciphertexts

  // Seconds of a token over those of a pass; 0 without one of them.
  double token_to_pass() const { return passes.empty() ? 0 : median(tokens) / median(passes); }
  void add_to(Json& json, const TextModel& model) const;
};

// The command of a server on this machine. `encrypted`: with the weights of the key folder.
std::vector<std::string> local_server(const std::string& program, const KeyFiles& files, bool encrypted,
                                      const std::string& state, const FileRingFlags& ring,
                                      const std::string& device, int64_t threads);

// Starts the server by `command`, and generates until the text has `wanted` tokens. `ready` gets the seconds
// until the server's greeting. Throws Interrupted, which says what is kept, after the server has ended.
TextSession run_session(const std::vector<std::string>& command, const TextModel& model,
                        const ckks::SecretKey& secret, TextRecord& record, const TextFolder& folder,
                        int wanted, const std::function<void(double seconds)>& ready,
                        const std::function<void(const TextClient::Step&)>& show);

}  // namespace psm::cmd
