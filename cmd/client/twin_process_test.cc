#include "cmd/client/twin_process.h"

#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("a request comes back as it was sent, and what is none is refused") {
  const TwinMessage sent{"token", 7, true, false, false, {{"x", {{1, -2}, {0.1, 1e300}}}, {"y", {}}}};
  const TwinMessage got = TwinMessage::parse(sent.text());
  CHECK(got.entry == "token");
  CHECK(got.argument == 7);
  CHECK(got.noisy);
  CHECK_FALSE(got.strict);
  CHECK_FALSE(got.shares);
  CHECK(got.slots == sent.slots);
  const std::string good = sent.text();
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), good + "x", std::string(4, '\xff') + good})
    CHECK_THROWS_AS(TwinMessage::parse(bad), Error);
}

}  // namespace
}  // namespace psm::cmd
