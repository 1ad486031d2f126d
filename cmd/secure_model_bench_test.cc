// The suite model at full size: two layers of Pythia 70M's shape, N = 2^16, 128-bit security.
#include <string>

#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

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
