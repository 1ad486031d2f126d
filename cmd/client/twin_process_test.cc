#include "cmd/client/twin_process.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    close(0);
    close(1);
  }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  int ends[2];
};

TEST_CASE("slots go through a pipe and come back, more of them than it holds at once") {
  attention::SlotVectors slots;
  slots["x"] = {{1, -2}, {0.1, 1e300}};
  slots["a long one"].assign(1 << 14, {3, 4});
  slots["none"] = {};
  Pipe pipe;
  std::thread sender([&] {
    send_bytes(pipe.ends[1], pack_slots(slots));
    send_bytes(pipe.ends[1], "");
    pipe.close(1);
  });
  std::string bytes;
  CHECK(receive_bytes(pipe.ends[0], bytes, 1 << 20));
  CHECK(unpack_slots(bytes) == slots);
  CHECK(receive_bytes(pipe.ends[0], bytes, 0));
  CHECK(bytes.empty());
  CHECK_FALSE(receive_bytes(pipe.ends[0], bytes, 0));
  sender.join();
}

TEST_CASE("a pipe that ends early, announces too much or has no reader is an error") {
  const auto carried = [](const std::string& bytes) {
    Pipe pipe;
    REQUIRE(::write(pipe.ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    pipe.close(1);
    std::string received;
    receive_bytes(pipe.ends[0], received, 100);
  };
  const auto number = [](uint64_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  CHECK_THROWS_WITH_AS(carried("abc"), doctest::Contains("pipe"), Error);
  CHECK_THROWS_WITH_AS(carried(number(101)), doctest::Contains("what no twin sends"), Error);
  CHECK_THROWS_WITH_AS(carried(number(~uint64_t{0})), doctest::Contains("what no twin sends"), Error);
  CHECK_THROWS_WITH_AS(carried(number(9) + "12345678"), doctest::Contains("is gone"), Error);

  std::signal(SIGPIPE, SIG_IGN);  // as run_command() has it
  Pipe pipe;
  pipe.close(0);
  CHECK_THROWS_WITH_AS(send_bytes(pipe.ends[1], "bytes"), doctest::Contains("is gone"), Error);
}

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

TEST_CASE("bytes that are no slots are refused") {
  const std::string good = pack_slots({{"x", {{1, 2}}}});
  CHECK_THROWS_AS(unpack_slots(good.substr(0, good.size() - 1)), Error);
  CHECK_THROWS_AS(unpack_slots(good + "x"), Error);
  CHECK_THROWS_AS(unpack_slots(""), Error);
  CHECK_THROWS_AS(unpack_slots(std::string(4, '\xff') + good), Error);
}

}  // namespace
}  // namespace psm::cmd
