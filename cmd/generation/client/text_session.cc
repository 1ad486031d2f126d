#include "cmd/generation/client/text_session.h"

#include <algorithm>

#include "ckks/base/interruption.h"
#include "cmd/protocol/child_process.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

void read_figures(const Json& figures, bool prompts_at_once, TextSession& session) {
  const char* what = "the server's figures";
  for (const Json& run : figures.at("runs", what).array(what)) {
    const double seconds = run.at("seconds", what).number(what),
                 encoding = run.at("encode_seconds", what).number(what);
    const bool token = run.at("count", what).integer(what, 1, INT32_MAX) == 1 &&
                       (run.at("first", what).integer(what, 0, INT32_MAX) > 0 || !prompts_at_once);
    (token ? session.tokens : session.passes).push_back(seconds - encoding);
  }
  session.bootstraps_per_token = figures.at("bootstraps_per_token", what).integer(what, 0, INT32_MAX);
  session.bootstraps_per_prompt = figures.at("bootstraps_per_prompt", what).integer(what, 0, INT32_MAX);
  session.peak_bytes = figures.at("peak_rss_bytes", what).integer(what, 0, INT64_MAX);
  session.cache_bytes = figures.at("cache_bytes", what).integer(what, 0, INT64_MAX);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

void TextSession::add_to(Json& json, const TextModel& model) const {
  const auto or_null = [](const std::vector<double>& values, double value) {
    return values.empty() ? Json() : Json(value);
  };
  json["seconds_prompt"] = or_null(prompt_seconds, median(prompt_seconds));
  json["seconds_per_token"] = or_null(token_seconds, median(token_seconds));
  json["seconds_pass"] = or_null(passes, median(passes));
  json["ratio_token_to_pass"] = passes.empty() || tokens.empty() ? Json() : Json(token_to_pass());
  json["bootstraps_per_token"] = bootstraps_per_token;
  json["bootstraps_per_prompt"] = bootstraps_per_prompt;
  json["cache_bytes"] = cache_bytes;
  int highest = 0;
  for (const PlanEnd& cache : model.caches) highest = std::max(highest, int{cache.level});
  json["cache_level"] = highest;
  json["peak_rss_bytes"] = peak_bytes;
  json["decrypted_ciphertexts"] = static_cast<uint64_t>(decrypted);
}

std::vector<std::string> local_server(const std::string& program, const KeyFiles& files, bool encrypted,
                                      const std::string& state, const FileRingFlags& ring,
                                      const std::string& device, int64_t threads) {
  std::vector<std::string> command{sibling_command("serve"), "--program=" + program,
                                   "--keys=" + files.evaluation, "--device=" + device,
                                   "--threads=" + std::to_string(threads)};
  if (encrypted) command.push_back("--weights=" + files.weights);
  if (!state.empty()) command.push_back("--state=" + state);
  if (ring.insecure) command.push_back("--insecure");
  return command;
}

TextSession run_session(const std::vector<std::string>& command, const TextModel& model,
                        const ckks::SecretKey& secret, TextRecord& record, const TextFolder& folder,
                        int wanted, const std::function<void(double seconds)>& ready,
                        const std::function<void(const TextClient::Step&)>& show) {
  // An honest server waits for the client, or stops as the client does.
  constexpr int64_t kPatience = 10'000;
  try {
    const double starting = seconds_now();
    const InterruptionWatch watch;
    ChildProcess process(command, kPatience);
    FrameChannel channel(process.from(), process.to(), "the server", [&] { return process.ending(); });
    TextClient client(model, secret, channel, record, folder);
    ready(seconds_now() - starting);
    TextSession session;
    while (static_cast<int>(record.tokens.size()) < wanted) {
      session.steps.push_back(client.next());
      const TextClient::Step& step = session.steps.back();
      (step.was_prompt || step.computed > 1 ? session.prompt_seconds : session.token_seconds)
          .push_back(step.seconds);
      show(step);
    }
    session.decrypted = client.decrypted();
    read_figures(client.figures(), model.takes_prompts(), session);
    return session;
  } catch (const Interrupted&) {
    throw Interrupted(folder.path().empty()
                          ? "nothing was kept; with --state FOLDER a text goes on where it was"
                          : message("the text is kept in ", folder.path(),
                                    " up to its last token; run the same command again to go on"));
  }
}

}  // namespace psm::cmd
