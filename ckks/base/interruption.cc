#include "ckks/base/interruption.h"

#include <atomic>

namespace psm {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);  // what a signal's handler may touch

// By now the signal has its default action again (SA_RESETHAND), which a second signal of any kind meets.
void note(int signal) {
  if (noted.exchange(signal) != 0) std::raise(signal);
}

}  // namespace

InterruptionWatch::InterruptionWatch() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptionWatch::~InterruptionWatch() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool interrupted() { return noted != 0; }

void stop_if_interrupted(const std::string& kept) {
  if (interrupted()) throw Interrupted(kept);
}

int end_by_interruption() {
  std::signal(noted, SIG_DFL);
  std::raise(noted);
  return 1;
}

}  // namespace psm
