// Frames: the messages of two processes through a pair of pipes.
//
//     4 bytes  kind            little-endian, as all files here (FORMATS.md)
//     8 bytes  length of what follows
//     length   payload: a ciphertext file of ckks/wire with a TextNote, or a line of text
//
// A receiver states the longest payload that it expects. A longer one is refused before memory is reserved for it, and
// so is an unknown kind. A closed pipe between two frames ends the conversation; inside a frame it is an error.
//
// Conversation. The server begins:
//     server  kReady     a Greeting (text_ends.h): which program, parameters and key pair, and which text it keeps
//     client  kPrompt    the first tokens of a text       -> kAnswer, or kRefused
//             kToken     one further token                -> kAnswer, or kRefused
//             kRepeat    nothing                          -> the last kAnswer again, or kRefused
//             kFigures   nothing                          -> kFigures, JSON: seconds of each run, memory
// A refusal is one line; the server's state does not change, and it waits for the next frame. A malformed
// frame ends the conversation after its refusal, because the beginning of the next one is unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace psm::cmd {

enum class FrameKind : uint32_t { kReady = 1, kPrompt, kToken, kRepeat, kFigures, kAnswer, kRefused };

struct Frame {
  FrameKind kind{};
  std::string payload;
};

constexpr uint64_t kMaxLine = 4096;         // of kReady and kRefused
constexpr uint64_t kMaxFigures = 64 << 20;  // of kFigures

// The other side of a conversation, wherever it is.
class Channel {
 public:
  virtual ~Channel() = default;
  // Throws Error if the other side is gone.
  virtual void send(FrameKind kind, std::string_view payload) = 0;
  // Nothing if the other side is gone. Throws Error for what is no frame, for a payload of more than `longest` bytes, and
  // where it goes inside a frame.
  virtual std::optional<Frame> receive(uint64_t longest) = 0;
  // What to say of that: "the server is gone: 'COMMAND' ended with exit status 1".
  virtual std::string gone() const = 0;
};

// A pair of pipes.
class FrameChannel final : public Channel {
 public:
  // The descriptors stay the caller's. `peer` names the other side in messages. `ending` says how the other side
  // ended, if this side can know; it is called when the pipe is closed. Writing into a closed pipe is an error in a
  // command, which does not end by SIGPIPE (run_command()).
  FrameChannel(int in, int out, std::string peer, std::function<std::string()> ending = {})
      : in_(in), out_(out), peer_(std::move(peer)), ending_(std::move(ending)) {}

  void send(FrameKind kind, std::string_view payload) override;
  std::optional<Frame> receive(uint64_t longest) override;
  std::string gone() const override { return peer_ + " is gone" + ending(); }

 private:
  std::string ending() const { return ending_ ? ": " + ending_() : ""; }
  // Reads fewer bytes only if the pipe is closed.
  size_t read(void* data, size_t bytes);

  int in_, out_;
  std::string peer_;
  std::function<std::string()> ending_;
};

// Whether a descriptor is a pipe or a socket, as the ends of a conversation are.
bool is_pipe(int descriptor);

}  // namespace psm::cmd
