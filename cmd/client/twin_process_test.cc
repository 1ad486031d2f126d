#include "cmd/client/twin_process.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("a request comes back as it was sent, and what is none is refused") {
  const TwinRequest sent{"token", 7, true, false, false, {{"x", {{1, 2}}}, {"y", {}}}};
  const TwinRequest got = TwinRequest::parse(sent.text());
  CHECK(got.entry == "token");
  CHECK(got.argument == 7);
  CHECK(got.noisy);
  CHECK_FALSE(got.strict);
  CHECK_FALSE(got.shares);
  CHECK(got.slots == sent.slots);
  CHECK_THROWS_AS(TwinRequest::parse(sent.text() + "x"), Error);
  CHECK_THROWS_AS(TwinRequest::parse(""), Error);
}

TEST_CASE("slots come back as they were packed, and bytes that are none are refused") {
  const attention::SlotVectors slots{{"x", {{1, -2}, {0.1, 1e300}}}, {"none", {}}};
  CHECK(unpack_slots(pack_slots(slots)) == slots);
  const std::string good = pack_slots({{"x", {{1, 2}}}});
  CHECK_THROWS_AS(unpack_slots(good.substr(0, good.size() - 1)), Error);
  CHECK_THROWS_AS(unpack_slots(good + "x"), Error);
  CHECK_THROWS_AS(unpack_slots(""), Error);
  CHECK_THROWS_AS(unpack_slots(std::string(4, '\xff') + good), Error);
}

}  // namespace
}  // namespace psm::cmd
