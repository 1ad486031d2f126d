// Goes on with several texts of one owner encrypted, a token of each in one ciphertext: client and server as two
// processes.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/interruption.h"
#include "ckks/base/random/random.h"
#include "cmd/deployment/client/range_check.h"
#include "cmd/deployment/comparison.h"
#include "cmd/deployment/prompts.h"
#include "cmd/generation/client/sequences_client.h"
#include "cmd/generation/client/server_process.h"
#include "cmd/generation/client/shape_flags.h"
#include "cmd/generation/client/text_keys.h"
#include "cmd/generation/client/text_session.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/device_flag.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/random_model.h"

namespace psm::cmd {
namespace {

// The model, and its texts' beginnings; a shape's are numbers.
struct Source {
  attention::Checkpoint checkpoint;
  std::string path;  // of the checkpoint
  std::optional<PromptCodec> codec;
  std::vector<std::vector<int>> prompts;

  std::string text(std::span<const int> tokens) const {
    return codec ? codec->decode(tokens) : numbers_of(tokens);
  }
};

// The clear model on the same texts: how many of the picked tokens are its likeliest too.
Json agreement(const attention::PolynomialModel& model, const SequencesClient& client,
               const std::vector<SequencesClient::Step>& steps) {
  const size_t vocab = static_cast<size_t>(model.weights.config.vocab);
  int64_t positions = 0, same = 0;
  double kl = 0, largest = 0;
  for (size_t u = 0; u < client.texts().size(); ++u) {
    const std::vector<int> text(client.texts()[u].begin(),
                                client.texts()[u].begin() + static_cast<ptrdiff_t>(steps.size()));
    const std::vector<double> clear = attention::polynomial_forward(model, text).logits;
    for (size_t t = 0; t < steps.size(); ++t, ++positions) {
      const PositionComparison at =
          compare_position(std::span(clear).subspan(t * vocab, vocab), steps[t].logits[u]);
      same += at.same;
      kl += at.kl;
      largest = std::max(largest, at.max_abs);
    }
  }
  Json json;
  json["positions"] = positions;
  json["same"] = same;
  json["top1"] = static_cast<double>(same) / static_cast<double>(positions);
  json["kl_mean"] = kl / static_cast<double>(positions);
  json["max_abs"] = largest;
  std::printf(
      "the clear model on the same texts: same argmax at %lld of %lld positions, mean KL %.1e, max |error| "
      "%.2g\n",
      static_cast<long long>(same), static_cast<long long>(positions), kl / static_cast<double>(positions),
      largest);
  return json;
}

int generate_sequences(int argc, char** argv) {
  Flags flags("bazel run //cmd:generate_sequences -- --model MODEL --prompts FILE --keys FOLDER [flags]",
              "Goes on with several texts of one owner without showing them to the server that computes, as\n"
              "//cmd:generate does with one: at every position a token of each, all in one ciphertext, in "
              "little more\n"
              "than the time of one. Prompts go token by token; a text whose prompt is over goes on while "
              "longer prompts\n"
              "are still read. Starts the server (//cmd:serve --sequences) as a process of its own.");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& prompts_path = flags.text("prompts", "", "--model: a file of prompts, one a line");
  const ShapeFlags shape(flags);
  const int64_t& sequences =
      flags.integer("sequences", 0, 0, 32768,
                    "texts that a ciphertext holds, a power of two; 0: as many as the prompts need");
  const int64_t& tokens =
      flags.integer("tokens", 16, 1, kMaxText, "tokens to generate after the longest prompt; of others more");
  const double& temperature =
      flags.number("temperature", 0, 0, 100, "of the choice; 0: always the likeliest token");
  const int64_t& top_k =
      flags.integer("top-k", 0, 0, INT32_MAX, "with --temperature: among the likeliest so many; 0: all");
  const int64_t& seed =
      flags.integer("seed", 1, 1, INT32_MAX,
                    "of the choice, one more for each text, and of --shape; cryptography takes no seed");
  const std::string& keys_path = flags.text("keys", "", "folder of the keys; made if there are none");
  const bool& compare = flags.truth("compare", false, "set the clear model's logits beside it");
  const RingFlags ring(flags);
  const DeviceFlag device(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  device.require_known();
  require_given(flags, {"keys"});
  shape.require(flags);
  if (flags.given("model") != flags.given("prompts"))
    throw Error("--prompts is for --model, which needs it; a shape's prompts are drawn by --seed");
  if (flags.given("shape") && sequences == 0) throw Error("--shape needs --sequences: how many to draw");
  if (flags.given("top-k") && temperature == 0) throw Error("--top-k is for --temperature above 0");

  const std::string key_folder = resolve_user_path(keys_path);
  Source source;
  if (flags.given("model")) {
    source.path = resolve_user_path(model_path);
    source.checkpoint = attention::load_checkpoint(source.path);
    source.codec.emplace(source.checkpoint);
    source.prompts = prompts_of_lines(*source.codec, prompts_path);
  } else {
    const int count = static_cast<int>(sequences);
    RandomModel random = random_model(shape.config(), static_cast<uint64_t>(seed), count, std::max(count, 4));
    source.checkpoint = std::move(random.checkpoint);
    for (std::vector<int>& prompt : random.prompts) source.prompts.push_back({prompt[0], prompt[1]});
    std::filesystem::create_directories(key_folder);
    source.path = key_folder + "/model.safetensors";
    attention::save_checkpoint(source.path, source.checkpoint);
  }
  const size_t given = source.prompts.size();
  const Sequences count{sequences > 0 ? static_cast<int>(sequences) : static_cast<int>(std::bit_ceil(given))};
  size_t longest = 0;
  for (const std::vector<int>& prompt : source.prompts) longest = std::max(longest, prompt.size());

  const TextKeys keys(key_folder, ring);
  const std::shared_ptr<const ckks::Context>& context = keys.context;
  const GenerationDeployment deployment(source.checkpoint, context, count);
  const int64_t positions = static_cast<int64_t>(longest) + tokens - 1;
  if (given > static_cast<size_t>(count.count))
    throw Error(message(given, " prompts for --sequences ", count.count));
  if (positions > deployment.tokens())
    throw Error(message("a prompt of ", longest, " tokens and ", tokens, " more need ", positions,
                        " places, and ", count.count, " sequences have ", deployment.tokens(),
                        "; shorten the prompt, or give a smaller --tokens"));
  if (source.codec) check_ranges(PackedModel(source.checkpoint, *context), source.prompts);
  std::printf(
      "%s\n%s in step: a token of each with %s; keys and values of %d tokens in %s; the server's memory %s "
      "beside "
      "its model\n",
      context->describe().c_str(), counted(static_cast<size_t>(count.count), "sequence").c_str(),
      counted(static_cast<size_t>(deployment.token.bootstraps), "bootstrap").c_str(), deployment.tokens(),
      bytes_text(static_cast<double>(deployment.cache_bytes())).c_str(),
      bytes_text(static_cast<double>(deployment.server_bytes())).c_str());
  keys.make(deployment, deployment.keys);
  std::fflush(stdout);
  const ckks::SecretKey secret = keys.secret();

  std::vector<std::string> command =
      local_server("serve", "--model", source.path, keys.files, "", ring, device.name, common.threads);
  command.insert(command.end(), {"--sequences", std::to_string(count.count)});
  const InterruptionWatch watch;
  ServerProcess process(command);
  FrameChannel channel(process.from(), process.to(), "the server", [&] { return process.ending(); });
  SequencesClient client(deployment, secret, channel, PublicSeedSource().identifier(), source.prompts,
                         {temperature, static_cast<int>(top_k), static_cast<uint64_t>(seed)});
  std::vector<SequencesClient::Step> steps;
  while (client.position() < positions) {
    steps.push_back(client.next());
    std::printf("  position %-4d %s\n", client.position() - 1, seconds_text(steps.back().seconds).c_str());
    std::fflush(stdout);
  }
  Json json;
  json["params"] = parameters_json(*context);
  json["sequences"] = count.count;
  json["positions"] = positions;
  for (size_t u = 0; u < given; ++u) {
    const std::string text = source.text(std::span(client.texts()[u]).subspan(source.prompts[u].size()));
    std::printf("text %zu: %s\n", u, text.c_str());
    json["texts"].push_back(text);
  }
  std::vector<double> at_client, at_server;
  for (const SequencesClient::Step& step : steps) at_client.push_back(step.seconds);
  const Json figures = client.figures();
  const char* what = "the server's figures";
  for (const Json& run : figures.at("runs", what).array(what))
    at_server.push_back(run.at("seconds", what).number(what) - run.at("encode_seconds", what).number(what));
  const double step = median(at_client), kept = figures.at("cache_bytes", what).number(what),
               peak = figures.at("peak_rss_bytes", what).number(what);
  std::printf(
      "a step %s at the client, %s of it the server's: %s a token; keys and values in %s, the server's peak "
      "memory %s\n",
      seconds_text(step).c_str(), seconds_text(median(at_server)).c_str(),
      seconds_text(step / static_cast<double>(given)).c_str(), bytes_text(kept).c_str(),
      bytes_text(peak).c_str());
  json["seconds_per_step"] = step;
  json["seconds_per_token"] = step / static_cast<double>(given);
  json["server_seconds_per_step"] = median(at_server);
  json["bootstraps_per_step"] = deployment.token.bootstraps;
  json["cache_bytes"] = kept;
  json["key_bytes"] = static_cast<uint64_t>(deployment.keys.bytes(context->chain()));
  json["peak_rss_bytes"] = peak;
  if (compare) json["agreement"] = agreement(deployment.model, client, steps);
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::generate_sequences(argc, argv); });
}
