// The twin as a child process (//cmd:twin) runs a compiled program on slots in the clear. A client that has
// the program asks it before encrypting whether a prompt stays inside its ranges, or after decrypting how
// close the answer is. The client itself links no program.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/ends/client_model.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/tables.h"
#include "cmd/generation/frames.h"
#include "cmd/protocol/child_process.h"

namespace psm::cmd {

// A request for one run of an entry point, or a reply, which has slots alone. Inputs that are not given come from the
// run before (a text's caches) or were shared; at a text's first place caches are empty.
struct TwinMessage {
  std::string entry{};
  int argument = 0;
  bool noisy = false;   // also once with the predicted error of every instruction
  bool strict = true;   // a value that leaves its range is an error
  bool shares = false;  // nothing is run: the slots, of which a period is enough, serve all runs from now on
  attention::SlotVectors slots{};
};

template <typename Tables>
void describe(Tables& t, TwinMessage& m) {
  t.text(m.entry);
  t.number(m.argument);
  wire::flag(t, m.noisy), wire::flag(t, m.strict), wire::flag(t, m.shares);
  wire::map(t, m.slots, 8, [&](std::string& name, std::vector<std::complex<double>>& values) {
    t.text(name);
    wire::list(t, values, 16, [&](std::complex<double>& value) {
      double re = value.real(), im = value.imag();
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

// What goes over the pipes: frames (cmd/generation/frames.h) of tables (ckks/wire/tables.h). A request is a kToken; its
// reply is one kAnswer, or two, or a kRefused that says what failed. The twin begins with a kReady, the program's
// id. The reply to slots that are shared has none.
constexpr uint64_t kMostTwinBytes = uint64_t{1} << 32;

class TwinProcess {
 public:
  struct Outputs {
    attention::SlotVectors clear;
    attention::SlotVectors noisy;  // empty unless they were asked for
  };

  // `threads` as --threads has it. Throws Error if the program has another id.
  TwinProcess(const std::string& program, uint64_t program_id, int64_t threads)
      : process_({sibling_command("twin"), "--program", resolve_user_path(program),
                  "--threads=" + std::to_string(threads)}),
        channel_(process_.from(), process_.to(), "the twin", [this] { return process_.ending(); }) {
    if (reply() != std::to_string(program_id))
      throw Error(
          message(program, " is another program than the client file's; give the one compiled with it"));
  }
  // Throws Error if a value leaves its range, and names operation and layer.
  Outputs run(const TwinMessage& request) {
    try {
      channel_.send(FrameKind::kToken, wire::to_bytes(request));
    } catch (const Error&) {
      reply();  // throws what the twin said last, or that it is gone
      throw;
    }
    Outputs outputs{slots(), {}};
    if (request.noisy) outputs.noisy = slots();
    return outputs;
  }

 private:
  std::string reply() {
    std::optional<Frame> frame = channel_.receive(kMostTwinBytes);
    if (!frame) throw Error(channel_.gone(), Error::Kind::kFailed);
    if (frame->kind == FrameKind::kRefused) throw Error(frame->payload);
    return std::move(frame->payload);
  }
  attention::SlotVectors slots() { return wire::from_bytes<TwinMessage>(reply(), "a message").slots; }

  ChildProcess process_;
  FrameChannel channel_;
};

}  // namespace psm::cmd
