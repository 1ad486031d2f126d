// The command as its users call it, in a small ring that offers no security: names and members of its rows.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckks/base/testing/runfile.h"
#include "ckks/program/planning/cost_model.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

const std::string kRing = " --insecure --log-n 11",
                  kSmall = kRing + " --repetitions 1 --bootstrap-repetitions 1";

TEST_CASE("the suite ckks has a row for every operation, with its times") {
  const Json json = figures_of("bench --suite ckks --threads 2 --backend scalar" + kSmall);
  std::vector<std::string> names;
  for (const Json& row : json.array("rows")) {
    const std::string name = row.at("name", "row").string("name");
    CAPTURE(name);
    names.push_back(name + " " + std::to_string(row.at("limbs", "row").integer("limbs", 1, 100)));
    CHECK(row.at("backend", "row").string("backend") == "scalar");
    const bool is_transform = name.compare(0, 4, "ntt_") == 0;
    CHECK(row.at("threads", "row").integer("threads", 1, 2) == (is_transform ? 1 : 2));
    CHECK(number_in(row, "min_ms") > 0);
    CHECK(number_in(row, "median_ms") >= number_in(row, "min_ms"));
  }
  CHECK(names == std::vector<std::string>{"ntt_forward 1", "ntt_inverse 1", "encode 10", "rotate 10",
                                          "rotate 20", "rotate_hoisted 20", "multiply_relinearise 10",
                                          "multiply_relinearise 20", "multiply_plain 20", "rescale 20",
                                          "bootstrap_keygen 28", "bootstrap_full 16", "bootstrap_sparse 15"});
  const Json& sparse = json.array("rows").back();
  CHECK(sparse.at("slots", "row").integer("slots", 1, 1 << 10) == 256);
  CHECK(sparse.at("usable_levels", "row").integer("usable_levels", 0, 100) >= 12);
  // 20.4 bits remain but once in a million, of one value even (least_precision in ckks/bootstrap/testing).
  CHECK(number_in(sparse, "precision_mean_bits") > 19);
  const Json& bootstrap = json.array("rows")[names.size() - 2];
  CHECK(bootstrap.at("usable_levels", "row").integer("usable_levels", 0, 100) == 13);
  CHECK(number_in(bootstrap, "precision_mean_bits") > 12);
  CHECK(number_in(bootstrap, "precision_min_bits") < number_in(bootstrap, "precision_mean_bits"));
  CHECK(number_in(bootstrap, "log_qp") > 1500);
  // The keys are in memory at the peak.
  CHECK(number_in(bootstrap, "key_bytes") >= 1);
  CHECK(number_in(bootstrap, "peak_rss_bytes") > number_in(bootstrap, "key_bytes"));
}

TEST_CASE("the suite kernels times each kernel of each backend") {
  const Json json = figures_of("bench --suite kernels" + kSmall);
  std::map<std::string, std::set<std::string>> kernels;  // by backend
  for (const Json& row : json.array("rows")) {
    const std::string name = row.at("name", "row").string("name");
    CHECK(number_in(row, "limb_us") >= (name == program::name(program::WorkKind::kNtt) ? 1e-3 : 0));
    kernels[row.at("backend", "row").string("backend")].insert(name);
  }
  CHECK(kernels.count("scalar") == 1);
  for (const auto& [backend, names] : kernels) CHECK(names.size() == program::kWorkKindCount);
}

// The sum of a member over the rows of an array.
double sum_of(const Json& json, const char* array, const char* member) {
  double sum = 0;
  for (const Json& row : json.at(array, "json").array(array)) sum += number_in(row, member);
  return sum;
}

TEST_CASE(
    "the suite model has every figure of a pass, whose parts add up to it, and its answer is the twin's") {
  const std::string model = runfile("testdata/recall.safetensors"),
                    command = "bench --suite model --threads 1 --model " + model + kRing;
  const Outcome outcome = must_run(command + " --repetitions 2 --bootstrap-repetitions 1 --ledger " +
                                   path_of("ledger.json") + " --json " + path_of("figures.json"));
  const Json json = json_in("figures.json");
  const auto number = [&](auto... keys) { return number_in(json, keys...); };
  CHECK(json.at("shape", "run").string("shape") == model);
  CHECK(number("tokens") == 64);
  CHECK(number("layers") == 2);
  CHECK(number("prompts") == 1);
  CHECK(json.at("seconds_of_passes", "run").array("passes").size() == 2);
  for (const char* name : {"log_n", "log_qp", "secret_hamming_weight", "security_bits"})
    CHECK(number("params", name) >= 0);
  for (const char* name : {"seconds", "seconds_first_pass", "seconds_keygen", "bootstrap_full_seconds",
                           "predicted_seconds", "bootstraps", "peak_rss_bytes"})
    CHECK(number(name) > 0);
  CHECK(number("ratio") == doctest::Approx(number("seconds") / number("bootstrap_full_seconds")));
  CHECK(number("transforms") == doctest::Approx(number("seconds") / number("transform_seconds")));
  CHECK(number("first_pass_transforms") > number("bootstrap_transforms"));
  CHECK(sum_of(json, "by_operation", "seconds") == doctest::Approx(number("seconds")));
  CHECK(sum_of(json, "by_operation", "predicted") == doctest::Approx(number("predicted_seconds")));
  CHECK(sum_of(json_in("ledger.json"), "rows", "seconds") == doctest::Approx(number("seconds")));
  std::set<std::string> operations;  // that take any time
  for (const Json& row : json.at("by_operation", "run").array("by_operation"))
    if (number_in(row, "seconds") > 0) operations.insert(row.at("name", "row").string("name"));
  for (const char* name : {"bootstrap", "rotate", "plaintext_products", "ciphertext_products", "polynomials"})
    CHECK(operations.contains(name));
  CHECK(number("versus_twin", "positions") == 64);
  // Chance cannot reach these bounds: thousands of predicted deviations (ckks/base/testing/chance.h).
  CHECK(number("versus_twin", "argmax_agreement") > 0.99);
  CHECK(number("versus_twin", "relative_rms") < 0x1p-7);
  for (const char* name : {"relative_rms", "mse", "max_abs"}) CHECK(number("versus_twin", name) > 0);
  for (const char* text : {"first pass", "warm pass, median of 2", "ratio of warm pass to bootstrap",
                           "plaintext_products", "same argmax: "}) {
    CAPTURE(text);
    CHECK(contains(outcome.out, text));
  }
  CHECK(contains(outcome.err, "warm pass 2 of 2"));
  check_refused(command + " --prompts 2", "2 prompts do not share a pass");
}

TEST_CASE(
    "the suite device counts operations and a pass without a device, and measures and compares on one") {
  const std::string command = "bench --suite device" + kSmall;
  const Json counted = figures_of(command + " --model " + runfile("testdata/recall.safetensors")),
             measured = figures_of(command + " --device emulated");
  CHECK(counted.at("device", "device").string("device") == "none");
  const auto& rows = measured.at("operations", "device").array("operations");
  const auto& only_counted = counted.at("operations", "device").array("operations");
  REQUIRE(rows.size() == 4);
  REQUIRE(only_counted.size() == 4);
  for (size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(rows[i].at("same_bits", "row").truth("same_bits"));
    CHECK(number_in(rows[i], "least_ms") > 0);
    CHECK(number_in(rows[i], "least_ms") <= number_in(rows[i], "median_ms"));
    CHECK(number_in(rows[i], "bytes") > 0);
    CHECK(only_counted[i].find("median_ms") == nullptr);
    // The sum of its parts: at least the time of all bytes, and of all launches.
    CHECK(number_in(only_counted[i], "predicted_ms") >=
          0.999e3 * (number_in(rows[i], "bytes") / 4.3e12 + number_in(rows[i], "launches") * 2e-6));
  }
  CHECK(number_in(rows[0], "launches") == 2);
  CHECK(number_in(rows[1], "launches") == 8);
  CHECK(number_in(rows[2], "launches") == 9);  // the products of the two ciphertexts before it
  CHECK(number_in(rows[3], "launches") > 50 * number_in(rows[1], "launches"));
  CHECK(number_in(counted, "pass", "peak_bytes") > number_in(counted, "pass", "key_bytes"));
  for (const char* part : {"preparation", "run"}) CHECK(number_in(counted, "pass", part, "bytes") > 0);
}

TEST_CASE("flags of the suite model are refused elsewhere, and those of shapes beside a model") {
  check_refused("bench --suite ckks --shape pythia-70m" + kSmall,
                "--shape is for --suite model and --suite device");
  check_refused("bench --suite device --prompts 2" + kSmall, "--prompts is for --suite model");
  check_refused("bench --suite ckks --device emulated" + kSmall,
                "--device is for --suite model and --suite device");
  check_refused("bench --suite model --model x --layers 2" + kSmall, "--layers is for --shape");
  check_refused("bench --suite model --text x" + kSmall, "--text is for a --model");
  check_refused("bench --suite model --model x --seed 7" + kSmall, "--seed is for a shape");
}

TEST_CASE("an unknown suite, an unknown backend and a small ring without --insecure are refused with 2") {
  check_refused("bench --suite lattice" + kSmall, "--suite lattice is not known");
  check_refused("bench --suite ckks --backend gpu" + kSmall, "gpu");
  check_refused("bench --suite ckks --log-n 11", "--log-n 11 offers no security");
}

}  // namespace
}  // namespace psm::cmd
