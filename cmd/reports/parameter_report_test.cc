#include "cmd/reports/parameter_report.h"

#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/testing/text.h"
#include "ckks/scheme/chain/context.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

program::ParameterSearch sample() {
  program::ParameterProposal proposal;
  proposal.spec = ckks::insecure_version(ckks::secure_n16(), 12);
  proposal.error = {0x1p-20, 0x1p-23, 19.9, 18.5};
  proposal.log2_qp = 1550, proposal.rare = {10, -22, 13.2};
  proposal.seconds = 1.5, proposal.key_bytes = 4e9, proposal.diagonal_bytes = 5e8, proposal.digits = 5;
  proposal.why = {"a reason"};
  program::ParameterSearch search;
  search.secret_hamming_weight = 192;
  search.bound = 1555, search.source = "a source";
  search.considered = 1000, search.beyond_bound = 900;
  search.proposals = {proposal, proposal};
  return search;
}

TEST_CASE("the report has the bound with its source, a row for each proposal, primes and reasons") {
  const std::string report = parameter_report(sample());
  const ckks::Context context(sample().proposals[0].spec);
  for (const char* part : {"at most 1555 (a source)", "900 beyond the bound", "13 x 40", "6 x 50", "4.00 GB",
                           "115 ms", "to 27: 6 special primes, digits of 7 + 7 + 6 + 5 + 3",
                           "SlotsToCoeffs 5 + 6", "one beyond 10, with probability 2^-22.0", "a reason"})
    CHECK_MESSAGE(contains(report, part), part, "\n", report);
  for (int i = 0; i <= context.max_level(); ++i) CHECK(contains(report, std::to_string(context.q(i))));
  for (int i = 0; i < context.ring().p_count(); ++i) CHECK(contains(report, std::to_string(context.p(i))));
}

TEST_CASE("the JSON makes the same chain again") {
  const Json json = parameter_json({}, {sample()});
  const Json& secret = json.at("secrets", "json").array("secrets").at(0);
  CHECK(secret.at("log_qp_bound", "json").number("bound") == 1555);
  const Json& p = secret.at("proposals", "json").array("proposals").at(1);
  ckks::ParameterSpec spec = sample().proposals[0].spec;
  const ckks::Context context(spec);
  const auto numbers = [&](const char* key) {
    std::vector<uint64_t> values;
    for (const Json& value : p.at(key, "json").array(key))
      values.push_back(static_cast<uint64_t>(value.integer(key, 1, int64_t{1} << 50)));
    return values;
  };
  REQUIRE(numbers("q").size() == static_cast<size_t>(context.max_level() + 1));
  for (int i = 0; i <= context.max_level(); ++i) CHECK(numbers("q")[i] == context.q(i));
  REQUIRE(numbers("p").size() == static_cast<size_t>(context.ring().p_count()));
  for (int i = 0; i < context.ring().p_count(); ++i) CHECK(numbers("p")[i] == context.p(i));
  const auto sum = [](const std::vector<uint64_t>& values) {
    return std::accumulate(values.begin(), values.end(), 0ull);
  };
  const Json::Array& bands = p.at("bands", "json").array("bands");
  REQUIRE(bands.size() == context.chain().bands.size());
  for (const Json& band : bands) {
    int64_t covered = 0;
    for (const Json& digit : band.at("digits", "json").array("digits"))
      covered += digit.integer("digit", 1, 16);
    CHECK(covered == band.at("top_level", "json").integer("top_level", 0, 60) + 1);
  }
  CHECK(sum(numbers("stc_butterflies")) == 11);
  CHECK(sum(numbers("cts_butterflies")) == 11);
  CHECK(p.at("stc_levels", "json").integer("stc_levels", 2, 2) == 2);
  CHECK(p.at("seconds_a_level", "json").number("seconds_a_level") == 1.5 / 13);
}

TEST_CASE("secrets go by name") {
  CHECK(secrets_named("sparse") == std::vector<int>{192});
  CHECK(secrets_named("both") == std::vector<int>{192, 0});
  CHECK_THROWS_AS(secrets_named("middling"), Error);
}

}  // namespace
}  // namespace psm::cmd
