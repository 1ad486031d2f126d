// The whole encrypted path at full size: N = 2^16, 128-bit security, the model of testdata, a full ciphertext
// of prompts.
#include <string>

#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("the demo's answers on ciphertexts at 128-bit security are the twin's") {
  const Json json = figures_of("demo --model " + runfile("testdata/recall.safetensors"));
  const auto number = [&](auto... keys) { return number_in(json, keys...); };
  CHECK(number("params", "log_n") == 16);
  CHECK(number("params", "log_qp") <= 1555);
  CHECK(number("params", "secret_hamming_weight") == 192);
  CHECK(number("params", "security_bits") == 128);
  CHECK(number("params", "usable_levels") >= 9);
  CHECK(number("bootstraps") >= 1);
  CHECK(number("encrypted_vs_twin", "positions") >= 100);
  // Bounds that chance cannot reach: errors are predicted at 2^-18 of the logits, thousands of times below (chance.h).
  CHECK(number("encrypted_vs_twin", "argmax_agreement") >= 0.99);
  CHECK(number("encrypted_vs_twin", "relative_rms") <= 0x1p-7);
  CHECK(number("encrypted_vs_twin", "relative_rms") > 0);
  CHECK(number("encrypted_vs_twin", "mse") <= 0.005);
  CHECK(number("accuracy", "power_softmax") >= 0.95);
  CHECK(number("accuracy", "polynomial") >= number("accuracy", "power_softmax") - 0.01);
  CHECK(number("accuracy", "encrypted") >= 0.95);
  CHECK(number("peak_rss_bytes") <= 14e9);
}

}  // namespace
}  // namespace psm::cmd
