#include "cmd/generation/frames.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/interruption.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

constexpr size_t kHead = 4 + 8;
// Memory grows with what has arrived, not with what was announced.
constexpr size_t kPiece = size_t{1} << 20;
constexpr char kNothing[] = "nothing was kept";

// Waits until the pipe can be read, or can take PIPE_BUF bytes. Throws Interrupted.
void await(int pipe, short event) {
  constexpr int kMilliseconds = 200;  // between two looks for an interruption
  for (pollfd state{pipe, event, 0};;) {
    const int ready = ::poll(&state, 1, kMilliseconds);
    stop_if_interrupted(kNothing);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
  }
}

}  // namespace

void FrameChannel::send(FrameKind kind, std::string_view payload) {
  std::vector<uint8_t> head;
  wire::put(head, static_cast<uint32_t>(kind));
  wire::put(head, static_cast<uint64_t>(payload.size()));
  const auto write_all = [&](const char* data, size_t bytes) {
    while (bytes > 0) {
      await(out_, POLLOUT);
      const ssize_t written = ::write(out_, data, std::min<size_t>(bytes, PIPE_BUF));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw Error(message("the pipe to ", peer_, " is closed: ", std::strerror(errno)));
      data += written;
      bytes -= static_cast<size_t>(written);
    }
  };
  write_all(reinterpret_cast<const char*>(head.data()), head.size());
  write_all(payload.data(), payload.size());
}

size_t FrameChannel::read(void* data, size_t bytes) {
  size_t got = 0;
  while (got < bytes) {
    await(in_, POLLIN);
    const ssize_t count = ::read(in_, static_cast<char*>(data) + got, bytes - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(message("cannot read from ", peer_, ": ", std::strerror(errno)));
    if (count == 0) {
      stop_if_interrupted(kNothing);  // which may have ended the other side as well
      break;
    }
    got += static_cast<size_t>(count);
  }
  return got;
}

std::optional<Frame> FrameChannel::receive(uint64_t longest) {
  uint8_t head[kHead];
  const size_t got = read(head, kHead);
  if (got == 0) return std::nullopt;
  const auto broken = [&] {
    return Error(message("the pipe from ", peer_, " closed in the middle of a frame", ending()));
  };
  if (got < kHead) throw broken();
  const uint8_t* in = head;
  const auto kind = wire::get<uint32_t>(in);
  const auto length = wire::get<uint64_t>(in);
  if (kind < static_cast<uint32_t>(FrameKind::kReady) || kind > static_cast<uint32_t>(FrameKind::kRefused))
    throw Error(message("what came from ", peer_, " is no frame of this protocol (kind ", kind,
                        "); is something else writing into the pipe?"));
  if (length > longest)
    throw Error(message("a frame of ", length, " bytes from ", peer_, ", where at most ", longest,
                        " are expected; do both sides have the same model and keys?"));
  Frame frame{static_cast<FrameKind>(kind), {}};
  while (frame.payload.size() < length) {
    const size_t begin = frame.payload.size(), piece = std::min<size_t>(kPiece, length - begin);
    frame.payload.resize(begin + piece);
    if (read(frame.payload.data() + begin, piece) < piece) throw broken();
  }
  return frame;
}

bool is_pipe(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace psm::cmd
