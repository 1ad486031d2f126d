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
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/client/new_keys.h"
#include "cmd/deployment/client/range_check.h"
#include "cmd/deployment/key_files.h"
#include "cmd/deployment/prompts.h"
#include "cmd/deployment/published_shapes.h"
#include "cmd/generation/client/server_process.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_comparison.h"
#include "cmd/generation/generation_deployment.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/device_flag.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/random_model.h"
#include "nn/text/tokenizer.h"

namespace psm::cmd {
namespace {

// A folder for keys that nobody asked to keep.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "psm-generate-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(message("cannot make a folder in ", std::filesystem::temp_directory_path().string(),
                          "; give --keys"));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
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
    if (codec) return codec->decode(tokens);
    std::string out;
    for (const int token : tokens) out += (out.empty() ? "" : " ") + std::to_string(token);
    return out;
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

// What the server's figures say of passes over prompts and of single tokens.
struct ServerTimes {
  std::vector<double> prompts, prompts_warm, tokens, tokens_warm;  // warm: without encoding
  int64_t peak_bytes = 0, cache_bytes = 0;

  explicit ServerTimes(const Json& figures) {
    const char* what = "the server's figures";
    for (const Json& run : figures.at("runs", what).array(what)) {
      const double seconds = run.at("seconds", what).number(what),
                   encoding = run.at("encode_seconds", what).number(what);
      const bool token = run.at("count", what).integer(what, 1, INT32_MAX) == 1 &&
                         run.at("first", what).integer(what, 0, INT32_MAX) > 0;
      (token ? tokens : prompts).push_back(seconds);
      (token ? tokens_warm : prompts_warm).push_back(seconds - encoding);
    }
    peak_bytes = figures.at("peak_rss_bytes", what).integer(what, 0, INT64_MAX);
    cache_bytes = figures.at("cache_bytes", what).integer(what, 0, INT64_MAX);
  }
};

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
  const std::string& shape_name = flags.text(
      "shape", "", "instead of a model, random weights of a published shape: " + published_shape_names());
  const int64_t& context_tokens =
      flags.integer("context", 128, 2, 4096, "--shape: tokens that the model takes, a power of two");
  const int64_t& layers = flags.integer("layers", 0, 0, 1000, "--shape: only so many layers; 0: all");
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
  const bool& compare = flags.truth("compare", false, "set the clear model's text and logits beside it");
  const RingFlags ring(flags);
  const DeviceFlag device(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  if (flags.given("model") == flags.given("shape"))
    throw Error("exactly one of --model and --shape is needed");
  device.require_known();
  if (flags.given("device") && !server_command.empty())
    throw Error("--device is for a server that runs here; give it to the command of --server");
  if (window != "error" && window != "slide")
    throw Error(message("--window ", window, " is not offered; there are: error, slide"));
  if (flags.given("top-k") && temperature == 0) throw Error("--top-k is for --temperature above 0");
  const bool slide = window == "slide";
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
    source.codec.emplace(source.checkpoint);
    if (!prompt.empty()) source.prompt = source.codec->encode(prompt);
  } else {
    if (!prompt.empty()) throw Error("--prompt is for --model; a shape's prompt is drawn by --seed");
    attention::ModelConfig config = published_shape(shape_name).config(static_cast<int>(context_tokens));
    if (layers > 0) config.layers = static_cast<int>(layers);
    RandomModel random = random_model(config, static_cast<uint64_t>(seed), 1);
    source.checkpoint = std::move(random.checkpoint);
    source.prompt = std::move(random.prompts[0]);
    source.prompt.resize(source.prompt.size() / 2);
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

  const KeyFiles files(key_folder);
  const bool make_keys = !std::filesystem::exists(files.secret);
  if (make_keys && !server_command.empty())
    throw Error(
        message("--server needs keys that the server has already; make them with --keys FOLDER "
                "--tokens 0, and copy evaluation.keys to it"));
  if (make_keys && record)
    throw Error(message("the keys of the text in ", state_path, " are not in ", key_folder, "; give --keys"));
  std::shared_ptr<const ckks::Context> context =
      make_keys ? std::make_shared<const ckks::Context>(ring.spec())
                : wire::read_context(files.secret, wire::FileKind::kSecretKey);
  ring.require_security(*context);

  const double planning = seconds_now();
  const GenerationDeployment deployment(source.checkpoint, context);
  std::printf(
      "%s\n%s planned: a prompt's pass with %s, a token with %s; keys and values of %d tokens in %s\n",
      context->describe().c_str(), seconds_text(seconds_now() - planning).c_str(),
      counted(static_cast<size_t>(deployment.prompt.bootstraps), "bootstrap").c_str(),
      counted(static_cast<size_t>(deployment.token.bootstraps), "bootstrap").c_str(), config.context,
      bytes_text(static_cast<double>(deployment.cache_bytes())).c_str());
  std::fflush(stdout);
  if (tokens > 0 && source.codec && !record) check_ranges(deployment, {source.prompt});
  double key_seconds = 0;
  if (make_keys) {
    require_no_keys(files);
    std::filesystem::create_directories(key_folder);
    const NewKeys made = make_key_files(files, *context, deployment.keys, "", deployment.bootstrap.get(),
                                        deployment.sparse.empty() ? nullptr : deployment.sparse[0].get(),
                                        deployment.server_bytes());
    key_seconds = made.seconds;
    std::printf("%s", made.text(*context, deployment.keys).c_str());
  }
  Json json;
  json["params"] = parameters_json(*context);
  if (tokens == 0) {
    std::printf("wrote %s (keep it) and %s (for the server)\n", files.secret.c_str(),
                files.evaluation.c_str());
    common.write_json(json);
    return 0;
  }

  const ckks::SecretKey secret = wire::read_secret_key(files.secret, *context);
  const bool resumed = record.has_value();
  if (!record) {
    record = TextRecord{.text = PublicSeedSource().identifier(),
                        .model = deployment.model_fingerprint,
                        .keys = secret.fingerprint().key,
                        .prompt = static_cast<int>(source.prompt.size()),
                        .tokens = source.prompt,
                        .sampler = sampler};
    folder.save(*record);
  }
  if (record->model != deployment.model_fingerprint)
    throw Error(message("the text in ", state_path, " is of another model than ", model_path));
  if (record->keys != secret.fingerprint().key)
    throw Error(message("the text in ", state_path, " is under another key pair than ", files.secret));

  std::vector<std::string> command;
  if (server_command.empty()) {
    command = {sibling_command("serve"),      "--model", source.path, "--keys", files.evaluation, "--threads",
               std::to_string(common.threads)};
    if (!state_path.empty()) command.insert(command.end(), {"--state", folder.path() + "/server"});
    if (ring.insecure) command.push_back("--insecure");
    if (flags.given("device")) command.insert(command.end(), {"--device", device.name});
    if (!ring.backend.empty()) command.insert(command.end(), {"--backend", ring.backend});
  } else {
    command = {"/bin/sh", "-c", server_command};
  }
  const double starting = seconds_now();
  const ServerProcess process(command);
  FrameChannel channel(process.from(), process.to(), "the server");
  TextClient client(deployment, secret, channel, *record, folder);
  const int wanted = record->prompt + static_cast<int>(tokens);
  std::printf("the server is ready after %s\nprompt (%s): %s\n",
              seconds_text(seconds_now() - starting).c_str(), counted(source.prompt.size(), "token").c_str(),
              nn::printable(source.text(source.prompt)).c_str());
  if (resumed)
    std::printf("resumed after %s: %s\n",
                counted(record->tokens.size() - source.prompt.size(), "token").c_str(),
                source.text(std::span(record->tokens).subspan(source.prompt.size())).c_str());
  std::fflush(stdout);

  std::vector<TextClient::Step> steps;
  std::vector<double> seconds, prompt_seconds;
  while (static_cast<int>(record->tokens.size()) < wanted) {
    steps.push_back(client.next());
    const TextClient::Step& step = steps.back();
    (step.was_prompt ? prompt_seconds : seconds).push_back(step.seconds);
    std::printf("  token %-4d %-12s %s%s\n", step.position, source.symbol(step.token).c_str(),
                seconds_text(step.seconds).c_str(), step.was_prompt ? " (a whole pass)" : "");
    std::fflush(stdout);
  }
  const std::span<const int> generated = std::span(record->tokens).subspan(source.prompt.size());
  std::printf("text: %s\n", source.text(generated).c_str());
  const ServerTimes times(client.figures());
  const double pass = median(times.prompts_warm), token = median(times.tokens_warm);
  if (!times.tokens.empty())
    std::printf("a token %s at the client, %s of it the server's%s; the server's peak memory %s\n",
                seconds_text(median(seconds)).c_str(), seconds_text(token).c_str(),
                times.prompts.empty() ? ""
                                      : message(", ", format("%.3f", token / pass), " of a pass of ",
                                                config.context, " tokens (", seconds_text(pass), ")")
                                            .c_str(),
                bytes_text(static_cast<double>(times.peak_bytes)).c_str());

  json["tokens"] = static_cast<int64_t>(steps.size());
  json["seconds_keys"] = key_seconds;
  json["seconds_prompt"] = prompt_seconds.empty() ? Json() : Json(median(prompt_seconds));
  json["seconds_per_token"] = seconds.empty() ? Json() : Json(median(seconds));
  json["seconds_pass"] = times.prompts.empty() ? Json() : Json(pass);
  json["ratio_token_to_pass"] = times.prompts.empty() || times.tokens.empty() ? Json() : Json(token / pass);
  json["bootstraps_per_token"] = deployment.token.bootstraps;
  json["bootstraps_per_prompt"] = deployment.prompt.bootstraps;
  json["cache_bytes"] = times.cache_bytes;
  json["cache_level"] = int{deployment.cache_level};
  json["key_bytes"] = static_cast<uint64_t>(deployment.keys.bytes(context->chain()));
  json["peak_rss_bytes"] = times.peak_bytes;
  for (const TextClient::Step& step : steps) json["seconds_by_token"].push_back(step.seconds);
  json["text"] = source.text(generated);
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
  common.write_json(json, AtomicFile::Access::kOwnerOnly);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::generate(argc, argv); });
}
