// Ctrl-C during work that has something to save or to clean up. While an InterruptionWatch lives, the first SIGINT,
// SIGTERM or SIGHUP is only noted, and the work looks for it between its steps. A second one ends the process at once.
//
//     const InterruptionWatch watch;
//     for (...) {
//       step();
//       stop_if_interrupted("nothing was kept");
//     }
#pragma once

#include <csignal>
#include <iterator>
#include <string>

#include "ckks/base/error.h"

namespace psm {

// Its message says what was kept, and how to continue.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message) : Error(message, Kind::kFailed) {}
};

// A signal that is ignored (nohup, a shell's background) stays ignored.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

 private:
  struct sigaction before_[std::size(kSignals)];
};

// Whether a watch noted a signal in this process.
bool interrupted();
// Throws Interrupted with this message if so.
void stop_if_interrupted(const std::string& kept);
// Ends the process by the signal that was noted, so that a shell sees it; returns an exit code if that is not possible.
int end_by_interruption();

}  // namespace psm
