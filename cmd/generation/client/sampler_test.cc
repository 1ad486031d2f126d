#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ckks/base/secrecy.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/instruction_trace.h"
#include "cmd/generation/client/text_client.h"

namespace psm::cmd {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = INFINITY;

// Under valgrind (sampler_flow_test) every branch and address that depends on a logit is an error.
int pick(const Sampler& sampler, const std::vector<double>& logits, int position) {
  std::vector<double> z = logits;
  mark_secret(z.data(), z.size() * sizeof z[0]);
  return sampler.pick(z, position);
}

TEST_CASE("without a temperature the largest logit is picked, the first of equal ones") {
  const Sampler greedy;
  CHECK(pick(greedy, std::vector<double>{1, 3, 2}, 5) == 1);
  CHECK(pick(greedy, std::vector<double>{1, 3, 3}, 5) == 1);
}

TEST_CASE("with one, tokens come as often as their probabilities say, among the top k") {
  const std::vector<double> z{0, std::log(2.0), std::log(5.0), -1};
  constexpr int kDraws = 20000;
  const auto share = [&](const Sampler& sampler, int token) {
    int count = 0;
    for (int position = 0; position < kDraws; ++position) count += pick(sampler, z, position) == token;
    return static_cast<double>(count) / kDraws;
  };
  const double sum = 8 + std::exp(-1);
  const Sampler plain{.temperature = 1}, two{.temperature = 1, .top_k = 2},
      cold{.temperature = 0.5, .top_k = 2};
  CHECK(share(plain, 2) == doctest::Approx(5 / sum).scale(0).epsilon(0.03));
  CHECK(share(plain, 0) == doctest::Approx(1 / sum).scale(0).epsilon(0.06));
  CHECK(share(two, 2) == doctest::Approx(5.0 / 7).scale(0).epsilon(0.03));
  CHECK(share(two, 0) == 0);
  CHECK(share(cold, 2) == doctest::Approx(25.0 / 29).scale(0).epsilon(0.03));  // squared odds
  CHECK(share({.temperature = 1, .top_k = 1}, 2) == 1);
  CHECK(share({.temperature = 1, .top_k = 100}, 0) == share(plain, 0));
}

TEST_CASE("a choice depends on seed and position alone") {
  const std::vector<double> z(50, 0.0);
  const Sampler one{.temperature = 1, .seed = 1}, other{.temperature = 1, .seed = 2};
  CHECK(pick(one, z, 7) == pick(one, z, 7));
  int same_seed = 0, same_position = 0;
  for (int position = 0; position < 50; ++position) {
    same_seed += pick(one, z, position) == pick(one, z, position + 1);
    same_position += pick(one, z, position) == pick(other, z, position);
  }
  CHECK(same_seed < 10);
  CHECK(same_position < 10);
}

TEST_CASE("garbage is picked from as anything else") {
  for (const Sampler& sampler :
       {Sampler{}, Sampler{.temperature = 1}, Sampler{.temperature = 1, .top_k = 2}}) {
    CHECK(pick(sampler, std::vector<double>{kNaN, 1, kNaN}, 0) == 1);
    CHECK(pick(sampler, std::vector<double>{kNaN, kNaN}, 0) == 0);
    CHECK(pick(sampler, std::vector<double>{kNaN, -kInf, kNaN}, 0) == 1);
    CHECK(pick(sampler, std::vector<double>{-kInf, -kInf}, 0) == 0);
    CHECK(pick(sampler, std::vector<double>{0, kInf}, 0) == 1);
    CHECK(pick(sampler, std::vector<double>{-1e300, 1e300}, 0) == 1);
  }
}

TEST_CASE("a choice executes the same instructions whatever the logits are") {
  const std::vector<std::vector<double>> rows{
      {0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {6, -5, 4, -3, 2, -1}, {kNaN, kInf, -kInf, 1e-310, -0.0, kNaN}};
  for (const Sampler& sampler : {Sampler{}, Sampler{.temperature = 0.7, .top_k = 2}}) {
    sampler.pick(rows[0], 0);  // what is made once is made now
    std::optional<InstructionTrace> first;
    for (const std::vector<double>& logits : rows) {
      const auto trace = trace_instructions([&] { sampler.pick(logits, 3); });
      if (!trace) return say_skipped("this system does not let a process trace its child");
      CHECK(trace->steps > 1000);
      if (!first) first = trace;
      CHECK(*trace == *first);
    }
  }
}

}  // namespace
}  // namespace psm::cmd
