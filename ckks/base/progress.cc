#include "ckks/base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "ckks/base/clock.h"

namespace psm {

Progress::Progress(std::string what, double total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(seconds_now()),
      last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(double amount) {
  const std::lock_guard lock(mutex_);
  done_ += amount;
  show();
}

void Progress::set(double done) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  show();
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
}

void Progress::show() {
  const double now = seconds_now(), seconds = now - start_;
  if (!terminal_ || seconds < 2 || now - last_ < 0.1) return;
  last_ = now;
  drawn_ = true;
  const double fraction = std::clamp(total_ > 0 ? done_ / total_ : 0.0, 0.0, 1.0);
  constexpr int kWidth = 28;
  char bar[kWidth + 1];
  for (int i = 0; i < kWidth; ++i) bar[i] = i < fraction * kWidth ? '#' : '.';
  bar[kWidth] = 0;
  const double left = fraction > 0 ? seconds * (1 - fraction) / fraction : 0;
  char line[512];
  std::snprintf(line, sizeof line, "%s [%s] %3.0f%%  %.0f s, about %.0f s left  %s", what_.c_str(), bar,
                100 * fraction, seconds, left, note_.c_str());
  // A line that wraps could not be drawn over.
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  std::fprintf(stderr, "\r\033[K%.*s", (known ? size.ws_col : int{sizeof line}) - 1, line);
  std::fflush(stderr);
}

}  // namespace psm
