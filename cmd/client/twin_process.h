// The twin as a child process (//cmd:twin): what a compiled program makes of slots in the clear, for an owner of the
// program who wants to know before encrypting whether a prompt stays inside its ranges, or after decrypting how close
// the answer is. A client links no program; it asks.
#pragma once

#include <memory>
#include <string>

#include "attention/ends/client_model.h"
#include "cmd/protocol/child_process.h"

namespace psm::cmd {

class TwinProcess {
 public:
  struct Outputs {
    attention::SlotVectors clear;
    attention::SlotVectors
        noisy;  // with the predicted error of every instruction; empty unless it was asked for
  };

  // Throws Error where the program is not the one of this id.
  TwinProcess(const std::string& program, uint64_t program_id);
  // Throws Error where a value leaves its range: which operation, which layer.
  Outputs run(const attention::SlotVectors& inputs, bool noisy = false);

 private:
  std::string reply();
  ChildProcess process_;
};

// What goes over the pipes: a count of bytes, then a table (ckks/wire/tables.h). Requests are a flag and slots; replies a
// flag, and slots twice or a text that says what failed. The first reply is the program's id.
void send_bytes(int descriptor, const std::string& bytes);
// False at the end of the pipe. Throws Error where more than `most` bytes are announced.
bool receive_bytes(int descriptor, std::string& bytes, uint64_t most);
std::string pack_slots(const attention::SlotVectors& slots);
attention::SlotVectors unpack_slots(const std::string& bytes);

}  // namespace psm::cmd
