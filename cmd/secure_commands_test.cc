// At full size, N = 2^16 with 128-bit security: text that the recall model generates, client and server in two processes,
// and the suite model on two layers of Pythia 70M's shape.
#include <string>

#include "ckks/base/testing/chance.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE(
    "tokens picked from ciphertexts at 128-bit security are the clear program's, within predicted errors") {
  const std::string out = output_of(
      "generate --model testdata/recall.safetensors --prompt \"k11 v21 k13 v20 k8 v16 k4 v28 k11\" "
      "--tokens 4 --compare --json " +
      path_of("run.json"));
  CHECK(contains(out, "the program's own text in the clear, the same: "));
  const Json json = json_in("run.json");
  CHECK(number_in(json, "params", "log_n") == 16);
  CHECK(number_in(json, "params", "log_qp") <= 1555);
  CHECK(number_in(json, "params", "security_bits") == 128);
  CHECK(number_in(json, "bootstraps_per_token") >= 1);
  CHECK(number_in(json, "ratio_token_to_pass") > 0);  // of measured times, which a busy machine spreads
  CHECK(number_in(json, "peak_rss_bytes") < 12e9);
  const Json& agreement = json.at("agreement", "run");
  // Chance apart, these follow from the bound below: logits of this model are further apart, and KL is at most half the
  // square of the largest error.
  CHECK(agreement.at("argmax_agreement_all", "a").number("same") == 1);
  CHECK(agreement.at("kl_mean", "a").number("kl") < 1e-6);
  for (const Json& position : agreement.at("by_position", "a").array("positions")) {
    const double predicted = position.at("predicted_std", "p").number("std");
    CHECK(predicted > 0);
    const double most = largest_after_draw(48) * predicted;  // symbols
    CHECK(position.at("max_abs", "p").number("max") < most);
    CHECK(position.at("margin", "p").number("margin") > 2 * most);
    CHECK(most * most / 2 < 1e-6);
  }
}

TEST_CASE("by nominal costs, a token takes less than four fifths of the pass over the prompt") {
  output_of("compile --model testdata/recall.safetensors --for text --out " + path_of("text"));
  const Json json = figures_of("show --program " + path_of("text.program"));
  double seconds[2] = {};
  for (const Json& entry : json.at("entries", "show").array("entries"))
    seconds[entry.at("name", "entry").string("name") == "token"] = number_in(entry, "seconds");
  CHECK(seconds[1] > 0);
  CHECK(seconds[1] < 0.8 * seconds[0]);
}

TEST_CASE("two layers of Pythia 70M on ciphertexts answer as their twin, in the memory that was predicted") {
  const Json json = figures_of("bench --suite model --shape pythia-70m --layers 2 --repetitions 1");
  const auto number = [&](auto... keys) { return number_in(json, keys...); };
  CHECK(number("tokens") == 128);
  CHECK(number("layers") == 2);
  CHECK(number("params", "log_n") == 16);
  CHECK(number("params", "log_qp") <= 1555);
  CHECK(number("params", "secret_hamming_weight") == 192);
  CHECK(number("params", "security_bits") == 128);
  CHECK(number("bootstraps") >= 1);
  CHECK(number("versus_twin", "positions") == 128);
  // Bounds that chance cannot reach: errors are predicted at 2^-18 of the logits, thousands of times below (chance.h).
  CHECK(number("versus_twin", "argmax_agreement") >= 0.99);
  CHECK(number("versus_twin", "relative_rms") <= 0x1p-7);
  CHECK(number("versus_twin", "relative_rms") > 0);
  CHECK(number("ratio") > number("bootstraps"));
  CHECK(number("peak_rss_bytes") <= 12e9);
  CHECK(number("peak_rss_bytes") <= 1.1 * number("predicted_peak_bytes"));
}

}  // namespace
}  // namespace psm::cmd
