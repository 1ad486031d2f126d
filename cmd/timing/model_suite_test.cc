#include "cmd/timing/model_suite.h"

#include <memory>
#include <set>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/parallel.h"
#include "cmd/compiler/shapes.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

// A tiny model in a ring that offers no security, on one thread: its loops are too short to share.
struct Small {
  Small() {
    set_thread_count(1);
    attention::ModelConfig config;
    config.vocab = 32, config.context = 16, config.layers = 2, config.width = 16, config.heads = 2;
    config.ffn = 32;
    RandomModel model = random_model(config, 1, 3);
    prompts = model.prompts;
    deployment = std::make_unique<Deployment>(model.checkpoint,
                                              ckks::Context(ckks::insecure_version(ckks::secure_n16(), 11)));
  }
  std::vector<std::vector<int>> prompts;
  std::unique_ptr<Deployment> deployment;
};

// Over the rows of a breakdown.
double sum_of(const Json& json, const char* breakdown, const char* member) {
  double sum = 0;
  for (const Json& row : json.at(breakdown, "run").array(breakdown))
    sum += row.at(member, breakdown).number(member);
  return sum;
}

TEST_CASE("a run has every figure, its parts add up to the pass, and its answer is the twin's") {
  const Small small;
  REQUIRE(small.deployment->plan.bootstraps > 0);
  int told = 0;
  const ModelTimes times = model_suite(
      *small.deployment, "tiny", small.prompts, nullptr,
      {.repetitions = 2, .bootstrap_repetitions = 1, .starting = [&](const std::string&) { ++told; }});
  CHECK(told == 6);
  const Json json = parse_json(times.json.dump(0), "run");
  CHECK(json.at("seconds_of_passes", "run").array("passes").size() == 2);
  const auto number = [&](const char* name) { return json.at(name, "run").number(name); };
  CHECK(json.at("shape", "run").string("shape") == "tiny");
  CHECK(number("tokens") == 16);
  CHECK(number("layers") == 2);
  CHECK(number("prompts") == 3);
  for (const char* name : {"log_n", "log_qp", "secret_hamming_weight", "security_bits"})
    CHECK(json.at("params", "run").at(name, "params").number(name) >= 0);
  for (const char* name :
       {"seconds", "seconds_first_pass", "seconds_keygen", "bootstrap_full_seconds", "predicted_seconds"})
    CHECK(number(name) > 0);
  CHECK(number("ratio") == doctest::Approx(number("seconds") / number("bootstrap_full_seconds")));
  CHECK(number("transforms") == doctest::Approx(number("seconds") / number("transform_seconds")));
  CHECK(number("first_pass_transforms") > number("bootstrap_transforms"));
  CHECK(number("bootstraps") == small.deployment->plan.bootstraps);
  CHECK(number("predicted_peak_bytes") > static_cast<double>(small.deployment->server_bytes()));
  CHECK(number("peak_rss_bytes") > 0);

  CHECK(sum_of(json, "by_computation", "seconds") == doctest::Approx(number("seconds")));
  CHECK(sum_of(json, "by_operation", "seconds") == doctest::Approx(number("seconds")));
  CHECK(sum_of(json, "by_operation", "predicted") == doctest::Approx(number("predicted_seconds")));
  CHECK(sum_of(json, "by_computation", "predicted") < number("predicted_seconds") + 1e-9);
  std::set<std::string> operations;  // that take any time
  for (const char* breakdown : {"by_computation", "by_operation"})
    for (const Json& row : json.at(breakdown, "run").array(breakdown)) {
      const std::string name = row.at("name", "row").string("name");
      CAPTURE(name);
      const bool some = row.at("seconds", "row").number("seconds") > 0;
      if (std::string(breakdown) == "by_computation") CHECK(some);
      if (some) operations.insert(name);
    }
  for (const char* name : {"bootstrap", "rotate", "plaintext_products", "ciphertext_products", "polynomials"})
    CHECK(operations.contains(name));
  const Json& twin = json.at("versus_twin", "run");
  CHECK(twin.at("positions", "twin").number("positions") == 3 * 16);
  // Chance cannot reach these bounds: thousands of predicted deviations (ckks/base/testing/chance.h).
  CHECK(twin.at("argmax_agreement", "twin").number("agreement") > 0.99);
  CHECK(twin.at("relative_rms", "twin").number("rms") < 0x1p-7);
  CHECK(twin.at("relative_rms", "twin").number("rms") > 0);
  CHECK(twin.at("mse", "twin").number("mse") > 0);
  CHECK(twin.at("max_abs", "twin").number("max") > 0);

  double ledger_seconds = 0;
  for (const program::LedgerRow& row : times.ledger.rows()) ledger_seconds += row.seconds;
  CHECK(ledger_seconds == doctest::Approx(number("seconds")));
  for (const char* text : {"first pass", "warm pass, median of 2", "ratio of warm pass to bootstrap",
                           "inverse_square_root", "same argmax: "}) {
    CAPTURE(text);
    CHECK(times.text.find(text) != std::string::npos);
  }
}

TEST_CASE("more prompts than share a pass are refused, and none") {
  const Small small;
  std::vector<std::vector<int>> many(static_cast<size_t>(small.deployment->packing.prompts) + 1,
                                     small.prompts[0]);
  CHECK_THROWS_AS(model_suite(*small.deployment, "tiny", many, nullptr, {}), Error);
  CHECK_THROWS_AS(model_suite(*small.deployment, "tiny", {}, nullptr, {}), Error);
}

}  // namespace
}  // namespace psm::cmd
