// How long something took.
#pragma once

#include <chrono>

namespace psm {

// By a steady clock: the difference of two calls counts.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace psm
