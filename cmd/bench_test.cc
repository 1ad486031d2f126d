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

int run(const std::string& arguments) { return run_command_line("bench " + arguments).exit_code; }

const std::string kSmall = " --insecure --log-n 11 --repetitions 1 --bootstrap-repetitions 1";

// All figures of a run that must succeed.
Json figures_of(const std::string& arguments) {
  must_run("bench " + arguments + kSmall + " --json " + path_of("figures.json"));
  return json_in("figures.json");
}

TEST_CASE("the suite ckks has a row for every operation, with times and those of its kernels") {
  const Json json = figures_of("--suite ckks --threads 2 --backend scalar");
  std::vector<std::string> names;
  for (const Json& row : json.array("rows")) {
    const std::string name = row.at("name", "row").string("name");
    CAPTURE(name);
    names.push_back(name + " " + std::to_string(row.at("limbs", "row").integer("limbs", 1, 100)));
    CHECK(row.at("backend", "row").string("backend") == "scalar");
    const bool is_transform = name.compare(0, 4, "ntt_") == 0;
    CHECK(row.at("threads", "row").integer("threads", 1, 2) == (is_transform ? 1 : 2));
    CHECK(row.at("min_ms", "row").number("min_ms") > 0);
    CHECK(row.at("median_ms", "row").number("median_ms") >= row.at("min_ms", "row").number("min_ms"));
    CHECK(row.at("kernels_ms", "row").number("kernels_ms") > 0);
  }
  CHECK(names == std::vector<std::string>{"ntt_forward 1", "ntt_inverse 1", "encode 10", "rotate 10",
                                          "rotate 20", "rotate_hoisted 20", "multiply_relinearise 10",
                                          "multiply_relinearise 20", "multiply_plain 20", "rescale 20",
                                          "bootstrap_keygen 28", "bootstrap_full 16", "bootstrap_sparse 15"});
  const Json& sparse = json.array("rows").back();
  CHECK(sparse.at("slots", "row").integer("slots", 1, 1 << 10) == 256);
  CHECK(sparse.at("usable_levels", "row").integer("usable_levels", 0, 100) >= 12);
  // 20.4 bits remain but once in a million, of one value even (least_precision in ckks/bootstrap/testing).
  CHECK(sparse.at("precision_mean_bits", "row").number("precision_mean_bits") > 19);
  const Json& bootstrap = json.array("rows")[names.size() - 2];
  CHECK(bootstrap.at("usable_levels", "row").integer("usable_levels", 0, 100) == 13);
  const double mean = bootstrap.at("precision_mean_bits", "row").number("precision_mean_bits");
  CHECK(mean > 12);
  CHECK(bootstrap.at("precision_min_bits", "row").number("precision_min_bits") < mean);
  CHECK(bootstrap.at("log_qp", "row").number("log_qp") > 1500);
  // The keys are in memory at the peak.
  CHECK(bootstrap.at("peak_rss_bytes", "row").integer("peak_rss_bytes", 1, INT64_MAX) >
        bootstrap.at("key_bytes", "row").integer("key_bytes", 1, INT64_MAX));
}

TEST_CASE("the suite kernels times each kernel of each backend") {
  const Json json = figures_of("--suite kernels");
  std::map<std::string, std::set<std::string>> kernels;  // by backend
  for (const Json& row : json.array("rows")) {
    const std::string name = row.at("name", "row").string("name");
    CHECK(row.at("limb_us", "row").number("limb_us") >=
          (name == program::name(program::WorkKind::kNtt) ? 1e-3 : 0));
    kernels[row.at("backend", "row").string("backend")].insert(name);
  }
  CHECK(kernels.count("scalar") == 1);
  for (const auto& [backend, names] : kernels) CHECK(names.size() == program::kWorkKindCount);
}

TEST_CASE("the suite model times the passes of a trained model, and its answer is the twin's") {
  const std::string model = runfile("testdata/recall.safetensors"), page = path_of("model.html");
  const Json json = figures_of("--suite model --threads 1 --model " + model + " --ledger " + page);
  const auto number = [&](const char* name) { return json.at(name, "run").number(name); };
  CHECK(json.at("shape", "run").string("shape") == model);
  CHECK(number("tokens") == 64);
  CHECK(number("layers") == 2);
  CHECK(number("seconds") > 0);
  CHECK(json.at("seconds_of_passes", "run").array("passes").size() == 1);
  CHECK(json.at("versus_twin", "run").at("argmax_agreement", "run").number("agreement") > 0.99);
  CHECK(read_file(page, 1 << 22).find("Ciphertexts in memory") != std::string::npos);
}

TEST_CASE("the suite device counts operations and a pass of a model without a device") {
  const Json json = figures_of("--suite device --model " + runfile("testdata/recall.safetensors"));
  CHECK(json.at("device", "device").string("device") == "none");
  const auto& operations = json.at("operations", "device").array("operations");
  REQUIRE(operations.size() == 4);
  for (const Json& row : operations) CHECK(row.at("predicted_ms", "row").number("predicted_ms") > 0);
  const Json& pass = json.at("pass", "device");
  CHECK(pass.at("peak_bytes", "pass").number("peak_bytes") >
        pass.at("key_bytes", "pass").number("key_bytes"));
  const auto bytes = [&](const char* which) {
    return pass.at(which, "pass").at("bytes", which).number("bytes");
  };
  for (const char* part : {"preparation", "run"}) CHECK(bytes(part) > 0);
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
  CHECK(run("--suite lattice" + kSmall) == 2);
  CHECK(run("--suite ckks --backend gpu" + kSmall) == 2);
  CHECK(run("--suite ckks --log-n 11") == 2);
}

}  // namespace
}  // namespace psm::cmd
