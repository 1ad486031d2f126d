#include "cmd/timing/train_suite.h"

#include <set>

#include "ckks/base/files/json_parser.h"
#include "ckks/base/parallel.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE(
    "the suite train has a row for both attentions and precisions on one thread and on all, with every "
    "member") {
  TrainSuiteOptions options = default_train_suite();
  options.model.context = 16, options.model.layers = 1, options.model.width = 16, options.model.heads = 2;
  options.model.ffn = 32;
  options.batch = 4, options.steps = 3;
  int started = 0;
  options.starting = [&](const std::string&) { ++started; };
  const int before = thread_count();
  set_thread_count(2);
  const Json rows = parse_json(train_suite(options).json().dump(0), "rows");
  CHECK(thread_count() == 2);
  set_thread_count(before);
  CHECK(started == 8);
  std::set<std::string> seen;
  for (const Json& json : rows.array("rows")) {
    CHECK(json.at("name", "row").string("name") == "training_step");
    const auto threads = json.at("threads", "row").integer("threads", 1, 2);
    seen.insert(json.at("attention", "row").string("attention") + " " +
                json.at("precision", "row").string("precision") + " " + std::to_string(threads));
    const std::string backend = json.at("backend", "row").string("backend");
    CHECK(std::set<std::string>{"scalar", "avx2", "avx512", "avx512bf16"}.count(backend) == 1);
    const auto number = [&](const char* name) { return json.at(name, "row").number(name); };
    const double parts = number("forward_ms") + number("backward_ms") + number("optimiser_ms");
    for (const char* name : {"forward_ms", "backward_ms", "optimiser_ms"}) CHECK(number(name) > 0);
    // gflops and tokens_per_second are of the same time, a step's, which holds its parts.
    const double step_ms = 1e3 * options.batch * options.model.context / number("tokens_per_second");
    CHECK(number("gflops") ==
          doctest::Approx(training_step_flops(options.model, options.batch) / (1e6 * step_ms)).epsilon(1e-3));
    CHECK(step_ms > 0.3 * parts);
    CHECK(number("gflops") < number("peak_gflops"));
  }
  CHECK(seen == std::set<std::string>{"softmax fp32 1", "softmax fp32 2", "power_softmax fp32 1",
                                      "power_softmax fp32 2", "softmax bf16 1", "softmax bf16 2",
                                      "power_softmax bf16 1", "power_softmax bf16 2"});
}

TEST_CASE("the operations of a step are those counted by hand") {
  attention::ModelConfig model;
  model.vocab = 5, model.context = 3, model.layers = 2, model.width = 4, model.heads = 2, model.ffn = 7;
  // A token: four 4 x 4 products and two 4 x 7 a layer, 4 x 5 at the end; a sequence: 6 pairs, twice 4.
  CHECK(training_step_flops(model, 2) == 6 * (2 * 3 * (2 * (64 + 56) + 20) + 2 * 2 * (6 * 8)));
}

}  // namespace
}  // namespace psm::cmd
