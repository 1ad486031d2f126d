#include "cmd/server/memory_flag.h"

#include "ckks/base/testing/check.h"

namespace psm::cmd {
namespace {

TEST_CASE("sizes are numbers with a unit, and nothing else") {
  CHECK(parse_bytes("16GB") == 16e9);
  CHECK(parse_bytes("700 MB") == 700e6);
  CHECK(parse_bytes("1.5TB") == 1.5e12);
  const std::string huge = "1" + std::string(300, '0') + "TB";
  for (const char* bad : {"", "16", "GB", "-1GB", "0GB", "1e3GB", "16 gb", "16GB ", "nanGB", "infGB",
                          "10000000TB", huge.c_str()}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_bytes(bad).has_value());
  }
}

TEST_CASE("what is left beside a run keeps plaintexts, and too little is refused") {
  const auto left = [](std::string value, uint64_t available = 0) {
    Flags flags("test", "a test");
    const MemoryFlag flag(flags);
    std::string program = "test", name = "--memory";
    char* arguments[] = {program.data(), name.data(), value.data()};
    flags.parse(value.empty() ? 1 : 3, arguments);
    return flag.left_for_plaintexts(2e9, 77, available);
  };
  CHECK(left("") == 77);
  CHECK(left("", 3'000'000'000) == 77);
  CHECK(left("", 2'000'000'040) == 30);
  CHECK(left("", 1) == 0);
  CHECK(left("4GB") > 1000000000);  // this process is small
  CHECK(left("4GB") < 2000000000 - current_resident_bytes() / 2);
  CHECK_REFUSED(left("2GB"), "keys and ciphertexts take 2.");
  CHECK_REFUSED(left("much"), "--memory much is no size");
}

TEST_CASE("ranks of one machine must fit together") {
  const uint64_t available = available_memory_bytes();
  REQUIRE(available > 0);
  require_memory(available / 4 * 3);
  require_memory(available / 4, 2);
  CHECK_REFUSED(require_memory(available / 4 * 3, 2), " of memory for the 2 ranks of this machine, ");
}

}  // namespace
}  // namespace psm::cmd
