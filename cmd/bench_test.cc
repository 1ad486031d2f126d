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

const std::string kSmall = " --insecure --log-n 11 --repetitions 1 --bootstrap-repetitions 1";

TEST_CASE("the suite ckks has a row for every operation, with times and those of its kernels") {
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
    CHECK(number_in(row, "kernels_ms") > 0);
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

TEST_CASE("the suite model times the passes of a trained model, and its answer is the twin's") {
  const std::string model = runfile("testdata/recall.safetensors"), page = path_of("model.html");
  const Json json =
      figures_of("bench --suite model --threads 1 --model " + model + " --ledger " + page + kSmall);
  CHECK(json.at("shape", "run").string("shape") == model);
  CHECK(number_in(json, "tokens") == 64);
  CHECK(number_in(json, "layers") == 2);
  CHECK(number_in(json, "seconds") > 0);
  CHECK(json.at("seconds_of_passes", "run").array("passes").size() == 1);
  CHECK(number_in(json, "versus_twin", "argmax_agreement") > 0.99);
  CHECK(contains(read_file(page, 1 << 22), "Ciphertexts in memory"));
}

TEST_CASE("the suite device counts operations and a pass of a model without a device") {
  const Json json =
      figures_of("bench --suite device --model " + runfile("testdata/recall.safetensors") + kSmall);
  CHECK(json.at("device", "device").string("device") == "none");
  const auto& operations = json.at("operations", "device").array("operations");
  REQUIRE(operations.size() == 4);
  for (const Json& row : operations) CHECK(number_in(row, "predicted_ms") > 0);
  CHECK(number_in(json, "pass", "peak_bytes") > number_in(json, "pass", "key_bytes"));
  for (const char* part : {"preparation", "run"}) CHECK(number_in(json, "pass", part, "bytes") > 0);
}

TEST_CASE("flags of the suite model are refused elsewhere, and those of shapes beside a model") {
  check_refused("bench --suite ckks --shape pythia-70m" + kSmall,
                "--shape is for --suite model and --suite device");
  check_refused("bench --suite device --prompts 2" + kSmall, "--prompts is for --suite model");
  check_refused("bench --suite ckks --device emulated" + kSmall,
                "--device is for --suite model and --suite device");
  check_refused("bench --suite model --model x --layers 2" + kSmall, "--layers is for --shape");
  check_refused("bench --suite model --text x" + kSmall, "--text is for a --model");
  check_refused("bench --suite model --shape pythia-7m" + kSmall, "unknown shape 'pythia-7m'");
  check_refused("bench --suite model --layers 7" + kSmall, "has 6 layers");
}

TEST_CASE("an unknown suite, an unknown backend and a small ring without --insecure are refused with 2") {
  check_refused("bench --suite lattice" + kSmall, "--suite lattice is not known");
  check_refused("bench --suite ckks --backend gpu" + kSmall, "gpu");
  check_refused("bench --suite ckks --log-n 11", "--log-n 11 offers no security");
}

}  // namespace
}  // namespace psm::cmd
