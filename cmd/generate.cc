// Text generated encrypted: makes keys, starts the server as a process of its own, encrypts a prompt, and
// then decrypts, picks and encrypts one token after another.
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/memory.h"
#include "ckks/base/random/random.h"
#include "cmd/deployment/client/range_check.h"
#include "cmd/generation/client/shape_flags.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_comparison.h"
#include "cmd/generation/client/text_keys.h"
#include "cmd/generation/client/text_session.h"
#include "cmd/generation/client/weight_encryption.h"
#include "cmd/generation/model/generation_deployment.h"
#include "cmd/prompts/prompts.h"
#include "cmd/protocol/child_process.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device_flag.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/random_model.h"
#include "nn/text/tokenizer.h"

namespace psm::cmd {
namespace {

// A folder for keys that nobody asked to keep. A process of its own, which no interrupt ends, removes it when this
// one closes their pipe or is gone, however it was killed.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(made()),
        remover_({"/bin/sh", "-c", "trap '' HUP INT QUIT TERM; cat; rm -rf -- \"$0\"", path_}) {}
  const std::string& path() const { return path_; }

 private:
  static std::string made() {
    const std::filesystem::path parent = std::filesystem::absolute(std::filesystem::temp_directory_path());
    std::string path = parent / "psm-generate-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
      throw Error(message("cannot make a folder in ", parent.string(), "; give --keys"));
    return path;
  }

  std::string path_;
  ChildProcess remover_;
};

// The model, and what its tokens are; a shape's are numbers.
struct Source {
  attention::Checkpoint checkpoint;
  std::optional<PromptCodec> codec;
  std::string path;  // of the checkpoint
  std::vector<int> prompt;

  std::string symbol(int token) const {
    if (!codec) return std::to_string(token);
    return codec->is_recall() ? codec->symbol(token) : "'" + codec->symbol(token) + "'";
  }
  std::string text(std::span<const int> tokens) const {
    return codec ? codec->decode(tokens) : numbers_of(tokens);
  }
};

void require_room(int64_t prompt, int64_t tokens, int64_t places, bool slide) {
  if (prompt > places)
    throw Error(message("a prompt of ", prompt, " tokens is longer than the ", places,
                        " that the model takes; shorten it"));
  // The last token that is picked is not computed on.
  if (!slide && prompt + tokens - 1 > places)
    throw Error(message("a prompt of ", prompt, " tokens and ", tokens, " more need ", prompt + tokens - 1,
                        " places, and the model has ", places, "; at most --tokens ", places - prompt + 1,
                        ", or --window slide"));
}

int generate(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:generate -- --model MODEL --prompt TEXT [flags]",
      "Goes on with a text without showing it to the server that computes: makes keys, starts a server as a\n"
      "process of its own, encrypts the prompt, and then decrypts, picks and encrypts one token after "
      "another;\n"
      "keys and values of the text so far stay at the server as ciphertexts. One command runs both sides; "
      "with\n"
      "--server the other side is wherever that command runs. The server learns how many tokens there are "
      "and\n"
      "when, and nothing else. The client always asks for --tokens tokens and never again for one, whatever "
      "it\n"
      "decrypts: a client that stopped or asked again because an answer looks wrong would tell a malicious\n"
      "server something of it. Do not share decrypted figures (README, --json with --compare).");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const ShapeFlags shape(flags);
  const std::string& prompt = flags.text("prompt", "", "the text to go on with");
  const int64_t& tokens =
      flags.integer("tokens", 16, 0, kMaxText, "tokens to generate; 0: makes the keys and stops");
  const double& temperature =
      flags.number("temperature", 0, 0, 100, "of the choice; 0: always the likeliest token");
  const int64_t& top_k =
      flags.integer("top-k", 0, 0, INT32_MAX, "with --temperature: among the likeliest so many; 0: all");
  const int64_t& seed = flags.integer("seed", 1, 1, INT64_MAX,
                                      "of the choice and of --shape's weights; cryptography takes no seed");
  const std::string& window = flags.text(
      "window", "error",
      "beyond the tokens that the model takes: error, or slide (the last half of them is sent again as "
      "a prompt, a whole pass)");
  const std::string& keys_path = flags.text(
      "keys", "", "folder of the keys; made if there are none. Else they are thrown away after the run");
  const std::string& state_path = flags.text(
      "state", "", "folder to keep the text in after every token; a run that was killed goes on from it");
  const std::string& server_command = flags.text(
      "server", "", "a shell command that runs the server elsewhere, such as \"ssh HOST serve --model ...\"");
  const bool& compare = flags.truth(
      "compare", false,
      "set the clear model's text and logits beside it; with --encrypted-weights also a server on "
      "this machine that has the weights, for its time");
  const bool& encrypted_weights = flags.truth("encrypted-weights", false,
                                              "the server gets the model's weights as ciphertexts, under the "
                                              "key of the prompt; prompts go token by token");
  const RingFlags ring(flags);
  const DeviceFlag device(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  shape.require(flags);
  device.require_known();
  if (flags.given("device") && !server_command.empty())
    throw Error("--device is for a server that runs here; give it to the command of --server");
  if (window != "error" && window != "slide")
    throw Error(message("--window ", window, " is not offered; there are: error, slide"));
  if (flags.given("top-k") && temperature == 0) throw Error("--top-k is for --temperature above 0");
  const bool slide = window == "slide";
  if (slide && encrypted_weights)
    throw Error(
        "--window slide is for plaintext weights: with encrypted ones no pass takes half a window at once");
  if (tokens == 0 && !flags.given("keys"))
    throw Error("--tokens 0 makes keys to keep; give --keys a folder for them");

  const TextFolder folder(state_path.empty() ? "" : resolve_user_path(state_path));
  std::optional<TemporaryFolder> temporary;
  if (keys_path.empty() && state_path.empty()) temporary.emplace();
  const std::string key_folder = !keys_path.empty()    ? resolve_user_path(keys_path)
                                 : !state_path.empty() ? folder.path() + "/keys"
                                                       : temporary->path() + "/keys";
  Source source;
  if (flags.given("model")) {
    source.path = resolve_user_path(model_path);
    source.checkpoint = attention::load_checkpoint(source.path);
    source.codec.emplace(source.checkpoint.weights.config, source.checkpoint.notes);
    if (!prompt.empty()) source.prompt = source.codec->encode(prompt);
  } else {
    if (!prompt.empty()) throw Error("--prompt is for --model; a shape's prompt is drawn by --seed");
    RandomModel random = random_model(shape.config(), static_cast<uint64_t>(seed), 1);
    source.checkpoint = std::move(random.checkpoint);
    source.prompt = std::move(random.prompts[0]);
    // Token by token a short one will do.
    source.prompt.resize(std::min<size_t>(source.prompt.size() / 2, encrypted_weights ? 4 : SIZE_MAX));
    std::filesystem::create_directories(key_folder);
    source.path = key_folder + "/model.safetensors";
    attention::save_checkpoint(source.path, source.checkpoint);
  }
  const attention::ModelConfig& config = source.checkpoint.weights.config;
  const Sampler sampler{temperature, static_cast<int>(top_k), static_cast<uint64_t>(seed)};

  std::optional<TextRecord> record = folder.load(config.vocab);
  if (record) {
    const std::vector<int> begun(record->tokens.begin(), record->tokens.begin() + record->prompt);
    if (!source.prompt.empty() && source.prompt != begun)
      throw Error(message(state_path,
                          " holds another text; leave --prompt out to go on with that one, or give "
                          "another --state"));
    if (record->sampler.temperature != sampler.temperature || record->sampler.top_k != sampler.top_k ||
        record->sampler.seed != sampler.seed)
      throw Error(message("the text in ", state_path, " was begun with --temperature ",
                          record->sampler.temperature, " --top-k ", record->sampler.top_k, " --seed ",
                          record->sampler.seed, "; go on with these"));
    source.prompt = begun;
  } else if (source.prompt.empty() && tokens > 0) {
    throw Error("--prompt is needed: the text to go on with");
  }
  if (tokens > 0) require_room(static_cast<int64_t>(source.prompt.size()), tokens, config.context, slide);

  const TextKeys keys(key_folder, ring);
  const KeyFiles& files = keys.files;
  if (keys.are_new && !server_command.empty())
    throw Error(
        message("--server needs keys that the server has already; make them with --keys FOLDER "
                "--tokens 0, and copy evaluation.keys to it"));
  if (keys.are_new && record)
    throw Error(message("the keys of the text in ", state_path, " are not in ", key_folder, "; give --keys"));
  const std::shared_ptr<const ckks::Context>& context = keys.context;
  std::optional<ckks::SecretKey> secret;
  if (!keys.are_new) secret.emplace(keys.secret());
  std::optional<uint64_t> weights_id;
  if (encrypted_weights && keys.are_new && std::filesystem::exists(files.weights))
    throw Error(message(files.weights, " is there without the keys that it is under; give other --keys"));
  if (encrypted_weights && secret)
    weights_id = encrypted_weights_in(files, *secret, fingerprint_of(source.checkpoint));
  const bool make_weights = encrypted_weights && !weights_id;
  if (make_weights && !server_command.empty())
    throw Error(message(
        "--server needs weights that the server has already; make them with --keys FOLDER --tokens 0, and "
        "copy weights.ct to it"));
  if (make_weights) weights_id = PublicSeedSource().identifier();

  const double planning = seconds_now();
  std::optional<const GenerationDeployment> encrypted, plain;
  if (weights_id) encrypted.emplace(source.checkpoint, context, *weights_id);
  const bool beside = !weights_id || compare;
  if (beside) plain.emplace(source.checkpoint, context);
  const GenerationDeployment& deployment = encrypted ? *encrypted : *plain;
  ckks::KeyRequest request = deployment.keys;
  if (plain) request.merge(plain->keys);
  std::printf("%s\n%s planned: ", context->describe().c_str(),
              seconds_text(seconds_now() - planning).c_str());
  if (deployment.takes_prompts())
    std::printf("a prompt's pass with %s, ",
                counted(static_cast<size_t>(deployment.prompt.bootstraps), "bootstrap").c_str());
  std::printf(
      "a token with %s; keys and values of %d tokens in %s; the server's memory %s beside its model\n",
      counted(static_cast<size_t>(deployment.token.bootstraps), "bootstrap").c_str(), config.context,
      bytes_text(static_cast<double>(deployment.cache_bytes())).c_str(),
      bytes_text(static_cast<double>(deployment.server_bytes())).c_str());
  if (encrypted)
    std::printf("weights in %s, %s in the server's memory\n",
                counted(deployment.weight_names.size(), "ciphertext").c_str(),
                bytes_text(static_cast<double>(deployment.weight_bytes())).c_str());
  std::fflush(stdout);
  if (tokens > 0 && source.codec && !record) check_ranges(deployment, {source.prompt});
  const double key_seconds = keys.make(request);
  if (keys.are_new) secret.emplace(keys.secret());
  Json json;
  json["params"] = parameters_json(*context);
  if (make_weights) {
    const WeightFigures made = encrypt_weights(files, *secret, deployment);
    std::printf("weights: %s in %s, %s in their file\n", counted(made.count, "ciphertext").c_str(),
                seconds_text(made.seconds).c_str(), bytes_text(static_cast<double>(made.file_bytes)).c_str());
    json["encrypted_weights"]["seconds_to_encrypt"] = made.seconds;
  }
  if (tokens == 0) {
    std::printf("wrote %s (keep it), %s, %s%s (for the server)\n", files.secret.c_str(),
                files.public_key.c_str(),
                encrypted ? (files.weights_owner + ", " + files.weights + ", ").c_str() : "",
                files.evaluation.c_str());
    common.write_json(json);
    return 0;
  }

  const bool resumed = record.has_value();
  if (!record) {
    record = TextRecord{.text = PublicSeedSource().identifier(),
                        .model = deployment.model_fingerprint,
                        .keys = secret->fingerprint().key,
                        .prompt = static_cast<int>(source.prompt.size()),
                        .tokens = source.prompt,
                        .sampler = sampler};
    folder.save(*record);
  }
  if (record->model != deployment.model_fingerprint)
    throw Error(message("the text in ", state_path, " is of another model than ", model_path));
  if (record->keys != secret->fingerprint().key)
    throw Error(message("the text in ", state_path, " is under another key pair than ", files.secret));

  const std::string server_state = state_path.empty() ? "" : folder.path() + "/server";
  const std::vector<std::string> with_model =
      local_server("serve", "--model", source.path, files, encrypted ? "" : server_state, ring, device.name,
                   common.threads);
  std::vector<std::string> command = with_model;
  if (encrypted)
    command = local_server("serve_encrypted", "--weights", files.weights, files, server_state, ring,
                           device.name, common.threads);
  if (!server_command.empty()) command = {"/bin/sh", "-c", server_command};
  const int wanted = record->prompt + static_cast<int>(tokens);
  const auto show = [&](const TextClient::Step& step) {
    const std::string note = step.was_prompt     ? " (a whole pass)"
                             : step.computed > 1 ? message(" (", step.computed, " tokens, one by one)")
                                                 : "";
    std::printf("  token %-4d %-12s %s%s\n", step.position, source.symbol(step.token).c_str(),
                seconds_text(step.seconds).c_str(), note.c_str());
    std::fflush(stdout);
  };
  const auto ready = [&](double seconds) {
    std::printf("the server is ready after %s\nprompt (%s): %s\n", seconds_text(seconds).c_str(),
                counted(source.prompt.size(), "token").c_str(),
                nn::printable(source.text(source.prompt)).c_str());
    if (resumed)
      std::printf("resumed after %s: %s\n",
                  counted(record->tokens.size() - source.prompt.size(), "token").c_str(),
                  source.text(std::span(record->tokens).subspan(source.prompt.size())).c_str());
    std::fflush(stdout);
  };
  const TextSession session = run_session(command, deployment, *secret, *record, folder, wanted, ready, show);
  const std::vector<TextClient::Step>& steps = session.steps;
  const std::span<const int> generated = std::span(record->tokens).subspan(source.prompt.size());
  std::printf("text: %s\n", source.text(generated).c_str());
  if (!session.token_seconds.empty())
    std::printf("a token %s at the client, %s of it the server's%s; the server's peak memory %s\n",
                seconds_text(median(session.token_seconds)).c_str(),
                seconds_text(median(session.tokens)).c_str(),
                session.passes.empty()
                    ? ""
                    : message(", ", format("%.3f", session.token_to_pass()), " of a pass of ", config.context,
                              " tokens (", seconds_text(median(session.passes)), ")")
                          .c_str(),
                bytes_text(static_cast<double>(session.peak_bytes)).c_str());
  std::printf("%s", session.breakdown_table().c_str());

  json["tokens"] = static_cast<int64_t>(steps.size());
  json["seconds_keys"] = key_seconds;
  json["key_bytes"] = static_cast<uint64_t>(request.bytes(context->chain()));
  for (const TextClient::Step& step : steps) json["seconds_by_token"].push_back(step.seconds);
  json["text"] = source.text(generated);
  if (!encrypted) session.add_to(json, deployment);
  if (encrypted) {
    Json& figures = json["encrypted_weights"];
    session.add_to(figures, deployment);
    figures["ciphertexts"] = static_cast<uint64_t>(deployment.weight_names.size());
    figures["file_bytes"] = static_cast<uint64_t>(std::filesystem::file_size(files.weights));
    figures["memory_bytes"] = static_cast<uint64_t>(deployment.weight_bytes());
  }
  if (encrypted && plain) {
    TextRecord again{.text = PublicSeedSource().identifier(),
                     .model = plain->model_fingerprint,
                     .keys = secret->fingerprint().key,
                     .prompt = record->prompt,
                     .tokens = source.prompt,
                     .sampler = sampler};
    std::printf("the same with a server on this machine that has the weights:\n");
    const TextFolder nowhere("");
    const TextSession with_weights = run_session(
        with_model, *plain, *secret, again, nowhere, wanted, [](double) {}, show);
    with_weights.add_to(json, *plain);
    const auto same =
        std::mismatch(again.tokens.begin(), again.tokens.end(), record->tokens.begin(), record->tokens.end())
            .first -
        again.tokens.begin() - record->prompt;
    json["encrypted_weights"]["same_tokens"] = static_cast<int64_t>(same);
    std::printf("the same text for %s", counted(static_cast<size_t>(same), "token").c_str());
    if (!session.tokens.empty() && !with_weights.tokens.empty())
      std::printf("; a token with encrypted weights takes %s of one with plaintext weights",
                  format("%.3f", median(session.tokens) / median(with_weights.tokens)).c_str());
    std::printf("\n");
  }
  if (compare || flags.given("shape")) {
    TextComparison comparison = compare_text(deployment, record->tokens, steps, compare);
    if (compare) {
      comparison.free_running =
          clear_continuation(deployment.model, source.prompt, static_cast<int>(generated.size()), sampler);
      const auto differs = std::mismatch(comparison.free_running.begin(), comparison.free_running.end(),
                                         generated.begin(), generated.end());
      const auto same = differs.first - comparison.free_running.begin();
      std::printf("the clear model's own text, %s: %s\n",
                  same == static_cast<ptrdiff_t>(generated.size())
                      ? "the same"
                      : message("the same for ", counted(static_cast<size_t>(same), "token")).c_str(),
                  source.text(comparison.free_running).c_str());
      json["free_running"]["text"] = source.text(comparison.free_running);
      json["free_running"]["same_tokens"] = static_cast<int64_t>(same);
    }
    std::printf("the clear model on the same text:\n%s", comparison.text().c_str());
    json["agreement"] = comparison.json();
  }
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::generate(argc, argv); });
}
