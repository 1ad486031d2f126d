#include "cmd/generation/frames.h"

#include <unistd.h>

#include "ckks/base/testing/check.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

// Both ends of one pipe, closed at the end or before.
struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  void write(const std::string& bytes) {
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  int ends[2];
};

std::string head(uint32_t kind, uint64_t length) {
  std::vector<uint8_t> bytes;
  wire::put(bytes, kind);
  wire::put(bytes, length);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("frames arrive as they were sent, empty ones and large ones too, until the pipe is closed") {
  Pipe pipe;
  FrameChannel out(-1, pipe.ends[1], "reader"), in(pipe.ends[0], -1, "writer");
  const std::string large(40000, 'y');  // fits a pipe
  const std::vector<Frame> sent{
      {FrameKind::kToken, "x"}, {FrameKind::kRepeat, ""}, {FrameKind::kAnswer, large}};
  for (const Frame& frame : sent) out.send(frame.kind, frame.payload);
  for (const Frame& frame : sent) {
    const std::optional<Frame> got = in.receive(frame.payload.size());
    REQUIRE(got);
    CHECK(got->kind == frame.kind);
    CHECK(got->payload == frame.payload);
  }
  pipe.close_end(1);
  CHECK(!in.receive(100));
}

TEST_CASE("what is no frame, is too long or ends in its middle is refused") {
  const auto refused = [](const std::string& bytes, const std::string& why) {
    Pipe pipe;
    pipe.write(bytes);
    pipe.close_end(1);
    CHECK_REFUSED(FrameChannel(pipe.ends[0], -1, "a client").receive(10), why);
  };
  refused("hello, server", "no frame");
  refused(head(0, 1) + "x", "no frame");
  refused(head(99, 1) + "x", "no frame");
  refused(head(2, 11) + "xxxxxxxxxxx", "at most 10");
  refused(head(2, uint64_t{1} << 63), "at most 10");
  refused(head(2, 3) + "xx", "in the middle");
  refused(head(2, 3).substr(0, 5), "in the middle");
}

TEST_CASE("a pipe that nobody reads is an error, and not the end of the process") {
  Pipe pipe;
  FrameChannel channel(-1, pipe.ends[1], "the server");
  pipe.close_end(0);
  CHECK_REFUSED(channel.send(FrameKind::kToken, "x"), "the server");
}

TEST_CASE("where the other side's ending is known, it is said") {
  Pipe pipe;
  CHECK(FrameChannel(-1, pipe.ends[1], "the server").gone() == "the server is gone");
  FrameChannel channel(pipe.ends[0], -1, "the server", [] { return "it ended"; });
  CHECK(channel.gone() == "the server is gone: it ended");
  pipe.write("x");
  pipe.close_end(1);
  CHECK_REFUSED(channel.receive(10), "a frame: it ended");
}

}  // namespace
}  // namespace psm::cmd
