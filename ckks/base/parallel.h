// Threads: a loop whose iterations the threads of one pool share.
//
// Every iteration writes its own outputs, so results do not depend on the number of threads. For a sum over
// iterations, the caller fixes the order. A loop inside a loop runs serially in its thread. An iteration's
// exception is thrown again in the caller, after all iterations have ended.
//
// Each thread begins with a stretch of its own, the same in every loop of the same length, so that its data stay in its
// cache. Then it takes pieces that others have not begun. So a thread that other programs keep off the processor delays
// a loop by one piece at most. A thread without work spins for a moment and then sleeps.
#pragma once

#include <cstddef>
#include <type_traits>

#include "ckks/base/function_ref.h"

namespace psm {

// The number of threads of parallel_for: that of set_thread_count(), or else all processors that this process may use.
int thread_count();
// count >= 1; takes effect for the loops that start afterwards.
void set_thread_count(int count);

// Whether the calling thread executes an iteration of a parallel loop.
bool in_parallel_loop();

// Calls piece(from, to) for contiguous pieces that make up [begin, end), which is not empty, on several threads.
// Others call parallel_for().
void run_pieces(size_t begin, size_t end, FunctionRef<void(size_t from, size_t to)> piece);

// Calls function(i) for i in [begin, end), both at least 0; i has the type of `end`.
template <typename Index, typename Function>
void parallel_for(std::type_identity_t<Index> begin, Index end, Function&& function) {
  const auto piece = [&function](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) function(static_cast<Index>(i));
  };
  if (end <= begin + 1 || in_parallel_loop() || thread_count() == 1)
    piece(static_cast<size_t>(begin), static_cast<size_t>(end));
  else
    run_pieces(static_cast<size_t>(begin), static_cast<size_t>(end), piece);
}

}  // namespace psm
