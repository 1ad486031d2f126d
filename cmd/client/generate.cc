// Text generated encrypted: makes keys, starts the server as a process of its own, encrypts a prompt, and
// then decrypts, picks and encrypts one token after another.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/interruption.h"
#include "ckks/base/random/random.h"
#include "ckks/base/random/training_random.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/container.h"
#include "cmd/client/new_keys.h"
#include "cmd/generation/client/text_client.h"
#include "cmd/generation/client/text_twin.h"
#include "cmd/generation/client/weight_encryption.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/child_process.h"
#include "cmd/protocol/group_files.h"
#include "cmd/protocol/locked_folder.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/protocol/temporary_folder.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::cmd {
namespace {

// Half as many tokens as the model takes, and few where each is computed alone.
std::vector<int> drawn_prompt(const TextModel& model, uint64_t seed) {
  TrainingRandom random(seed);
  std::vector<int> prompt(
      static_cast<size_t>(model.takes_prompts() ? (model.tokens + 1) / 2 : std::min(model.tokens, 4)));
  for (int& token : prompt)
    token = static_cast<int>(random.integer(static_cast<uint64_t>(model.file.model.shape.vocab)));
  return prompt;
}

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

// Compiles the model in a process of its own, for the ring of the keys that are there: this process holds the secret
// key and links no compiler. Returns the exit status, after the other has said what was wrong.
int compile(const std::string& model, const std::string& out, bool encrypted_weights, const KeyFiles& keys,
            const RingFlags& ring, int64_t threads) {
  ckks::ParameterSpec spec = ring.spec();
  if (std::filesystem::exists(keys.secret))
    spec = wire::read_context(keys.secret, wire::FileKind::kSecretKey)->spec();
  const bool dense = spec.secret_hamming_weight == 0;
  std::vector<std::string> command{sibling_command("compile"),
                                   "--model=" + model,
                                   "--out=" + out,
                                   encrypted_weights ? "--for=encrypted-weights" : "--for=text",
                                   "--log-n=" + std::to_string(spec.log_n),
                                   dense ? "--secret=dense" : "--secret=sparse",
                                   "--threads=" + std::to_string(threads)};
  if (ring.insecure) command.push_back("--insecure");
  ChildProcess compiler(command);
  compiler.output();  // for //cmd:compile's users
  return compiler.wait();
}

// Without the line's end.
std::string prompt_of(const std::string& path) {
  constexpr size_t kLongest = 1 << 24;
  std::string text;
  if (path != "-") {
    text = read_file(resolve_user_path(path), kLongest);
  } else {
    for (int c; text.size() < kLongest && (c = std::getchar()) != EOF;) text += static_cast<char>(c);
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// A bound on the probability that a bootstrap of the text overflows (ckks/bootstrap/overflow.h).
double overflow_of(const TextModel& model, size_t prompt, int64_t tokens, bool slide) {
  if (!model.takes_prompts())
    return static_cast<double>(static_cast<int64_t>(prompt) + tokens - 1) * model.token_overflow;
  const int64_t passes = 1 + (slide ? tokens / std::max(1, model.tokens / 2) : 0);
  return static_cast<double>(passes) * model.prompt_overflow +
         static_cast<double>(tokens) * model.token_overflow;
}

// The server as a process of this machine. `encrypted`: with the weights of the key folder.
std::vector<std::string> local_server(const std::string& program, const KeyFiles& files, bool encrypted,
                                      const std::string& state, const RingFlags& ring,
                                      const std::string& device, int64_t threads) {
  std::vector<std::string> command{sibling_command("serve"), "--program=" + program,
                                   "--keys=" + files.evaluation, "--device=" + device,
                                   "--threads=" + std::to_string(threads)};
  if (encrypted) command.push_back("--weights=" + files.weights);
  if (!state.empty()) command.push_back("--state=" + state);
  if (ring.insecure) command.push_back("--insecure");
  return command;
}

// Returns 0 if there are no values.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

int generate(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:generate -- (--model MODEL | --client FILE [--program FILE]) --prompt TEXT [flags]",
      "Goes on with a text without showing it to the server that computes: makes keys, starts a server as a "
      "process of its own, encrypts the prompt, and then decrypts, picks and encrypts one token after "
      "another; keys and values of the text so far stay at the server as ciphertexts. One command runs both "
      "sides; with --server the other side is wherever that command runs. With --model, the model is "
      "compiled first. The server learns how many tokens there are and when, and nothing else. The client "
      "always asks for --tokens tokens and never again for one, whatever it decrypts: a client that stopped "
      "or asked again because an answer looks wrong would tell a malicious server something of it. Do not "
      "share decrypted figures (--json with --compare).");
  const std::string& model_path =
      flags.text("model", "", "polynomial model (from //cmd:polynomialise), to be compiled next to the keys");
  const std::string& client_path =
      flags.text("client", "", "instead: the client's file (NAME.client of //cmd:compile --for text)");
  const std::string& program_path =
      flags.text("program", "", "--client: the program, for a server that runs here and for --compare");
  const std::string& typed =
      flags.text("prompt", "", "the text to go on with, which others see in a list of processes");
  const std::string& prompt_path =
      flags.text("prompt-file", "", "instead: a file with the text; -: standard input");
  const int64_t& tokens =
      flags.integer("tokens", 16, 0, kMaxText, "tokens to generate; 0: makes the keys and stops");
  const double& temperature =
      flags.number("temperature", 0, 0, 100, "of the choice; 0: always the likeliest token");
  const int64_t& top_k =
      flags.integer("top-k", 0, 0, INT32_MAX, "with --temperature: among the likeliest so many; 0: all");
  const int64_t& seed =
      flags.integer("seed", 1, 1, INT64_MAX,
                    "of the choice, and of the prompt of a model without tokenizer; cryptography takes none");
  const std::string& window = flags.text("window", "error",
                                         "beyond the tokens that the model takes: error, or slide (the last "
                                         "half of them is sent again as a prompt, a whole pass)");
  const std::string& keys_path = flags.text(
      "keys", "", "folder of the keys; made if there are none. Else they are thrown away after the run");
  const std::string& state_path = flags.text(
      "state", "", "folder to keep the text in after every token; a run that was killed goes on from it");
  const std::string& server_command =
      flags.text("server", "",
                 "a shell command that runs the server elsewhere, such as \"ssh HOST serve --program ...\"");
  const bool& reuse_keys =
      flags.truth("reuse-keys", false,
                  "the keys of another text: if both texts are published, more decryptions under "
                  "one key are");
  const bool& compare =
      flags.truth("compare", false, "compare text and logits with those of the program in the clear");
  const bool& encrypted_weights = flags.truth("encrypted-weights", false,
                                              "--model: the server gets the weights as ciphertexts, under "
                                              "the key of the prompt; prompts go token by token");
  const std::string& device = flags.text(
      "device", "cpu", "who computes, where the server runs here (//cmd:serve says what there is)");
  const RingFlags ring(flags);
  flags.begin(argc, argv);
  if (flags.given("model") == flags.given("client"))
    throw Error("exactly one of --model and --client is needed");
  if (flags.given("model") && flags.given("program")) throw Error("--program is for --client");
  for (const char* name : {"encrypted-weights", "log-n", "secret"})
    if (flags.given("client") && flags.given(name))
      throw Error(message("--", name, " is for --model; what was compiled says it"));
  if (flags.given("device") && !server_command.empty())
    throw Error("--device is for a server that runs here; give it to the command of --server");
  if (window != "error" && window != "slide")
    throw Error(message("--window ", window, " is not offered; there are: error, slide"));
  if (flags.given("top-k") && temperature == 0) throw Error("--top-k is for --temperature above 0");
  if (flags.given("prompt") && flags.given("prompt-file")) throw Error("give --prompt or --prompt-file");
  const std::string prompt = flags.given("prompt-file") ? prompt_of(prompt_path) : typed;
  const bool slide = window == "slide";
  if (tokens == 0 && !flags.given("keys"))
    throw Error("--tokens 0 makes keys to keep; give --keys a folder for them");
  const bool compiles = flags.given("model"), has_program = compiles || flags.given("program");
  if (!has_program && (server_command.empty() || compare) && tokens > 0)
    throw Error("--program is needed: for a server that runs here, and for --compare");

  const TextFolder folder(resolve_user_path(state_path));
  std::optional<TemporaryFolder> temporary;
  if (keys_path.empty() && state_path.empty()) temporary.emplace("; give --keys");
  const std::string key_folder = !keys_path.empty()    ? resolve_user_path(keys_path)
                                 : !state_path.empty() ? folder.path() + "/keys"
                                                       : temporary->path() + "/keys";
  const KeyFiles files(key_folder);
  std::string client_file = resolve_user_path(client_path), program_file = resolve_user_path(program_path);
  if (compiles) {
    ring.spec();  // what is wrong with its flags is said before a folder is made
    std::filesystem::create_directories(key_folder);
    client_file = key_folder + "/text.client", program_file = key_folder + "/text.program";
    if (const int status = compile(resolve_user_path(model_path), key_folder + "/text", encrypted_weights,
                                   files, ring, flags.threads());
        status != 0)
      return status;
  }
  TextModel model(read_client_file(client_file));
  const ckks::Context& context = *model.context;
  ring.require_security(context);
  const PromptCodec codec = codec_of_form(model.file.prompts, model.file.model.shape, client_file);
  const bool encrypted = !model.weights.empty();
  if (slide && encrypted)
    throw Error(
        "--window slide is for plaintext weights: with encrypted ones no pass takes half a window at once");
  const Sampler sampler{temperature, static_cast<int>(top_k), static_cast<uint64_t>(seed)};
  std::vector<int> begun;
  if (!prompt.empty()) begun = codec.encode(prompt);
  std::optional<TextRecord> record = folder.load(model.file.model.shape.vocab);
  if (record) {
    const std::vector<int> kept(record->tokens.begin(), record->tokens.begin() + record->prompt);
    if (!begun.empty() && begun != kept)
      throw Error(
          message(state_path,
                  " holds another text; leave --prompt out to go on with that one, or give another --state"));
    if (record->sampler.temperature != sampler.temperature || record->sampler.top_k != sampler.top_k ||
        record->sampler.seed != sampler.seed)
      throw Error(message("the text in ", state_path, " was begun with --temperature ",
                          record->sampler.temperature, " --top-k ", record->sampler.top_k, " --seed ",
                          record->sampler.seed, "; go on with these"));
    begun = kept;
  } else if (begun.empty() && codec.reads_numbers()) {
    begun = drawn_prompt(model, sampler.seed);
  } else if (begun.empty() && tokens > 0) {
    throw Error("--prompt is needed: the text to go on with");
  }
  if (tokens > 0) require_room(static_cast<int64_t>(begun.size()), tokens, model.tokens, slide);

  const bool new_keys = !std::filesystem::exists(files.secret);
  if (new_keys && !server_command.empty())
    throw Error(
        message("--server needs keys that the server has already; make them with --keys FOLDER --tokens 0, "
                "and copy evaluation.keys to it"));
  if (new_keys && record)
    throw Error(message("the keys of the text in ", state_path, " are not in ", key_folder, "; give --keys"));
  if (new_keys && encrypted && std::filesystem::exists(files.weights))
    throw Error(message(files.weights, " is there without the keys that it is under; give other --keys"));
  std::optional<ckks::SecretKey> secret;
  std::optional<uint64_t> weights_id;
  if (!new_keys) {
    secret.emplace(wire::read_secret_key(files.secret, context));
    if (encrypted) weights_id = encrypted_weights_in(files, *secret, model);
  }
  if (encrypted && !weights_id && !server_command.empty())
    throw Error(
        message("--server needs weights that the server has already; make them with --keys FOLDER --tokens "
                "0, and copy weights.ct to it"));

  print(context.describe(), "\n");
  if (has_program && tokens > 0 && !codec.reads_numbers() && !record)
    TextTwin(program_file, model, flags.threads()).after(begun, /*predict=*/false, /*strict=*/true);
  Json json;
  json["params"] = parameters_json(context);
  json["seconds_keys"] = 0;
  json["key_bytes"] = static_cast<uint64_t>(model.file.keys.bytes(context.chain()));
  if (new_keys) {
    const NewKeys made = make_key_files(files, context, model.file.keys);
    print(made.text(context, model.file.keys));
    json["seconds_keys"] = made.seconds;
    secret.emplace(wire::read_secret_key(files.secret, context));
  }
  if (encrypted) {
    Json& figures = json["encrypted_weights"];
    if (!weights_id) {
      const WeightFigures made = encrypt_weights(files, *secret, model);
      print("weights: ", counted(made.count, "ciphertext"), " in ", seconds_text(made.seconds), ", ",
            bytes_text(static_cast<double>(made.file_bytes)), " in their file\n");
      figures["seconds_to_encrypt"] = made.seconds;
      weights_id = made.id;
    }
    model.id = *weights_id;
    figures["ciphertexts"] = static_cast<uint64_t>(model.weights.size());
    figures["file_bytes"] = static_cast<uint64_t>(std::filesystem::file_size(files.weights));
    figures["memory_bytes"] = static_cast<uint64_t>(group_bytes(context, model.weights));
  }
  if (tokens == 0) {
    print("wrote ", files.secret, " (keep it), ", files.public_key, ", ",
          encrypted ? (files.weights_owner + ", " + files.weights + ", ").c_str() : "",
          compiles ? (client_file + " (keep it), " + program_file + ", ").c_str() : "", files.evaluation,
          " (for the server)\n");
    flags.write_json(json);
    return 0;
  }

  const bool resumed = record.has_value();
  if (resumed && record->program != model.id)
    throw Error(message("the text in ", state_path, " is of another program, or of other weights"));
  if (resumed && record->keys != secret->fingerprint().key)
    throw Error(message("the text in ", state_path, " is under another key pair than ", files.secret));
  const std::string used = key_folder + "/text.made";
  std::optional<LockedFolder> lock;  // no other text begins under these keys until this one is marked
  if (!reuse_keys) {
    // A folder that is that of the state too is locked already.
    if (state_path.empty() || !std::filesystem::equivalent(folder.path(), key_folder))
      lock.emplace(key_folder, "begin a text under the keys in", "process begins a text under the keys in");
    // A run that was killed may have begun this text and not marked the keys. An empty mark does not say whose it is.
    const bool marked = std::filesystem::exists(used);
    const std::string owner = marked ? read_file(used, 64) : "";
    if (marked && (!record || (!owner.empty() && owner != std::to_string(record->text))))
      throw Error(message(record ? "another" : "a", " text was generated under the keys of ", key_folder,
                          " already; a published text is a decryption, so give ",
                          record ? "a new --state and " : "", "a new --keys folder, or --reuse-keys"));
  }
  if (!record) {
    record = TextRecord{.text = fresh_identifier(),
                        .program = model.id,
                        .keys = secret->fingerprint().key,
                        .prompt = static_cast<int>(begun.size()),
                        .tokens = begun,
                        .sampler = sampler};
    folder.write(TextFolder::kRecord, note_text(*record));
  }

  const double overflow = overflow_of(model, begun.size(), tokens, slide);
  print("probability of an overflow, which costs a number its precision, in this text: at most ",
        power_of_two_text(overflow), "\n");
  json["overflow"] = overflow;

  const std::string server_state = state_path.empty() ? "" : folder.path() + "/server";
  std::vector<std::string> command{"/bin/sh", "-c", server_command};
  if (server_command.empty())
    command = local_server(program_file, files, encrypted, server_state, ring, device, flags.threads());
  const int wanted = record->prompt + static_cast<int>(tokens);
  const std::string quote = codec.answers().words ? "" : "'";
  std::vector<TextClient::Step> steps;
  size_t decrypted = 0;
  Json figures;
  try {
    // An honest server waits for the client, or stops as the client does.
    constexpr int64_t kPatience = 10'000;
    const double starting = seconds_now();
    const InterruptionWatch watch;
    ChildProcess process(command, kPatience);
    FrameChannel channel(process.from(), process.to(), "the server", [&] { return process.ending(); });
    TextClient client(model, *secret, channel, *record, folder);
    if (!std::filesystem::exists(used)) write_file(used, std::to_string(record->text));
    lock.reset();
    print("the server is ready after ", seconds_text(seconds_now() - starting), "\nprompt (",
          counted(begun.size(), "token"), "): ", visible(codec.decode(begun)), "\n");
    if (resumed)
      print("resumed after ", counted(record->tokens.size() - begun.size(), "token"), ": ",
            visible(codec.decode(std::span(record->tokens).subspan(begun.size()))), "\n");
    while (static_cast<int>(record->tokens.size()) < wanted) {
      const TextClient::Step& step = steps.emplace_back(client.next());
      const std::string note = step.was_prompt     ? " (a whole pass)"
                               : step.computed > 1 ? message(" (", step.computed, " tokens, one by one)")
                                                   : "";
      std::printf("  token %-4d %-12s %s%s\n", step.position,
                  (quote + visible(codec.symbol(step.token)) + quote).c_str(),
                  seconds_text(step.seconds).c_str(), note.c_str());
      std::fflush(stdout);
    }
    decrypted = client.decrypted();
    figures = client.figures();
  } catch (const Interrupted&) {
    throw Interrupted(folder.path().empty()
                          ? "nothing was kept; with --state FOLDER a text goes on where it was"
                          : message("the text is kept in ", folder.path(),
                                    " up to its last token; run the same command again to go on"));
  }
  // Seconds of steps on prompts, which are whole passes or token by token, and of steps on one token; and of the
  // server's passes and tokens, without the encoding of weights.
  std::vector<double> prompt_steps, token_steps, passes, token_runs;
  for (const TextClient::Step& step : steps)
    (step.was_prompt || step.computed > 1 ? prompt_steps : token_steps).push_back(step.seconds);
  constexpr const char* kFigures = "the server's figures";
  for (const Json& run : figures.at("runs", kFigures).array(kFigures)) {
    const double run_seconds = run.at("seconds", kFigures).number(kFigures),
                 encoding = run.at("encode_seconds", kFigures).number(kFigures);
    const bool token =
        run.at("count", kFigures).integer(kFigures, 1, INT32_MAX) == 1 &&
        (run.at("first", kFigures).integer(kFigures, 0, INT32_MAX) > 0 || !model.takes_prompts());
    (token ? token_runs : passes).push_back(run_seconds - encoding);
  }
  const auto of_server = [&](const char* name, int64_t most) {
    return figures.at(name, kFigures).integer(kFigures, 0, most);
  };
  const int64_t token_bootstraps = of_server("bootstraps_per_token", INT32_MAX),
                prompt_bootstraps = of_server("bootstraps_per_prompt", INT32_MAX),
                peak_bytes = of_server("peak_rss_bytes", INT64_MAX),
                cache_bytes = of_server("cache_bytes", INT64_MAX);
  const double token_to_pass = passes.empty() ? 0 : median(token_runs) / median(passes);
  const std::span<const int> generated = std::span(record->tokens).subspan(begun.size());
  print("text: ", visible(codec.decode(generated)), "\n");
  if (!token_steps.empty())
    print("a token ", seconds_text(median(token_steps)), " at the client, ", seconds_text(median(token_runs)),
          " of it the server's",
          passes.empty() ? ""
                         : message(", ", format("%.3f", token_to_pass), " of a pass of ", model.tokens,
                                   " tokens (", seconds_text(median(passes)), ")"),
          "\n");
  print("keys and values of ", model.tokens, " tokens in ", bytes_text(static_cast<double>(cache_bytes)),
        "; the server's peak memory ", bytes_text(static_cast<double>(peak_bytes)), "\n");

  json["tokens"] = static_cast<int64_t>(steps.size());
  for (const TextClient::Step& step : steps) json["seconds_by_token"].push_back(step.seconds);
  json["text"] = codec.decode(generated);
  const auto median_of = [](const std::vector<double>& seconds) {
    return seconds.empty() ? Json() : Json(median(seconds));
  };
  json["seconds_prompt"] = median_of(prompt_steps);
  json["seconds_per_token"] = median_of(token_steps);
  json["seconds_pass"] = median_of(passes);
  json["ratio_token_to_pass"] = passes.empty() || token_runs.empty() ? Json() : Json(token_to_pass);
  json["bootstraps_per_token"] = token_bootstraps;
  json["bootstraps_per_prompt"] = prompt_bootstraps;
  json["cache_bytes"] = cache_bytes;
  int cache_level = 0;
  for (const PlanEnd& cache : model.caches) cache_level = std::max(cache_level, int{cache.level});
  json["cache_level"] = cache_level;
  json["peak_rss_bytes"] = peak_bytes;
  json["decrypted_ciphertexts"] = static_cast<uint64_t>(decrypted);
  if (compare) {
    TextTwin twin(program_file, model, flags.threads());
    const TextComparison comparison = compare_text(twin, model, *record, steps);
    const auto differs = std::mismatch(comparison.free_running.begin(), comparison.free_running.end(),
                                       generated.begin(), generated.end());
    const auto same = differs.first - comparison.free_running.begin();
    print("the program's own text in the clear, ",
          same == static_cast<ptrdiff_t>(generated.size())
              ? "the same"
              : message("the same for ", counted(static_cast<size_t>(same), "token")),
          ": ", visible(codec.decode(comparison.free_running)), "\n");
    json["free_running"]["text"] = codec.decode(comparison.free_running);
    json["free_running"]["same_tokens"] = static_cast<int64_t>(same);
    print("the program in the clear on the same text:\n", comparison.text());
    json["agreement"] = comparison.json();
  }
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::generate, argc, argv); }
