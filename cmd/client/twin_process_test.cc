#include "cmd/client/twin_process.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("a request comes back as it was sent, and what is none is refused") {
  const TwinMessage sent{"token", 7, true, false, false, {{"x", {{1, 2}}}, {"y", {}}}};
  const TwinMessage got = TwinMessage::parse(sent.text());
  CHECK(got.entry == "token");
  CHECK(got.argument == 7);
  CHECK(got.noisy);
  CHECK_FALSE(got.strict);
  CHECK_FALSE(got.shares);
  CHECK(got.slots == sent.slots);
  CHECK_THROWS_AS(TwinMessage::parse(sent.text() + "x"), Error);
  CHECK_THROWS_AS(TwinMessage::parse(""), Error);
}

TEST_CASE("slots come back as they were sent, and bytes that are none are refused") {
  const attention::SlotVectors slots{{"x", {{1, -2}, {0.1, 1e300}}}, {"none", {}}};
  CHECK(TwinMessage::parse(TwinMessage{.slots = slots}.text()).slots == slots);
  const std::string good = TwinMessage{.slots = {{"x", {{1, 2}}}}}.text();
  CHECK_THROWS_AS(TwinMessage::parse(good.substr(0, good.size() - 1)), Error);
  CHECK_THROWS_AS(TwinMessage::parse(good + "x"), Error);
  CHECK_THROWS_AS(TwinMessage::parse(std::string(4, '\xff') + good), Error);
}

}  // namespace
}  // namespace psm::cmd
