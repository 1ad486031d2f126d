// Text generated at full size: the recall model, N = 2^16, 128-bit security, client and server in two
// processes.
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
  CHECK(agreement.at("top1", "a").number("top1") == 1);
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

}  // namespace
}  // namespace psm::cmd
