// The twin as a child process (//cmd:twin) runs a compiled program on slots in the clear. A client that has
// the program asks it before encrypting whether a prompt stays inside its ranges, or after decrypting how
// close the answer is. The client itself links no program.
#pragma once

#include <cstdint>
#include <string>

#include "attention/ends/client_model.h"
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
  bool shares = false;  // nothing is run: the slots serve all runs from now on
  attention::SlotVectors slots{};

  std::string text() const;
  static TwinMessage parse(const std::string& bytes);  // throws Error for anything else
};

class TwinProcess {
 public:
  struct Outputs {
    attention::SlotVectors clear;
    attention::SlotVectors noisy;  // empty unless they were asked for
  };

  // Throws Error if the program has another id.
  TwinProcess(const std::string& program, uint64_t program_id);
  // Throws Error if a value leaves its range, and names operation and layer.
  Outputs run(const TwinMessage& request);

 private:
  std::string reply();
  ChildProcess process_;
  FrameChannel channel_;
};

// What goes over the pipes: frames (cmd/generation/frames.h) of tables (ckks/wire/tables.h). A request is a kToken; its
// reply is one kAnswer, or two, or a kRefused that says what failed. The twin begins with a kReady, the program's
// id. The reply to slots that are shared has none.
constexpr uint64_t kMostTwinBytes = uint64_t{1} << 32;

}  // namespace psm::cmd
