// How a test checks that results do not depend on the number of threads.
#pragma once

#include "ckks/base/parallel.h"
#include "doctest/doctest.h"

namespace psm {

// What run() returns, checked to be the same for one thread, two and three.
template <typename Run>
auto same_for_any_threads(const Run& run) {
  const int before = thread_count();
  set_thread_count(1);
  const auto result = run();
  for (const int threads : {2, 3}) {
    CAPTURE(threads);
    set_thread_count(threads);
    const bool same = run() == result;
    CHECK(same);
  }
  set_thread_count(before);
  return result;
}

}  // namespace psm
