// A progress bar on standard error, if that is a terminal, from the second second on.
//
//     Progress progress("generating keys", 57);
//     for (...) progress.advance();
//
// Thread-safe.
#pragma once

#include <mutex>
#include <string>

namespace psm {

class Progress {
 public:
  // `total` is in any unit. The line has an estimate of the time left, is cut to the terminal's width, and is
  // drawn at most ten times a second.
  Progress(std::string what, double total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(double amount = 1);
  void set(double done);
  // Shown after the bar: "loss 1.23".
  void note(std::string text);

 private:
  void show();  // with the mutex held

  std::mutex mutex_;
  std::string what_, note_;
  double total_, done_ = 0;
  bool terminal_, drawn_ = false;
  double start_, last_;
};

}  // namespace psm
