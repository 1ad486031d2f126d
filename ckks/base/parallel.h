// Threads: a loop split evenly over OpenMP threads.
//
// Every iteration writes its own outputs, so results do not depend on the number of threads; where a sum is
// taken across iterations, the caller fixes its order. A loop inside a loop runs serially in its thread. An
// exception thrown by an iteration stops nothing that has begun, and is thrown again in the caller.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>

namespace psm {

// Threads that parallel_for uses: what set_thread_count said, or else all processors this process may use.
int thread_count();
// count >= 1; takes effect for the loops that start afterwards.
void set_thread_count(int count);

// Calls function(i) for i in [begin, end), in contiguous chunks of equal size.
template <typename Function>
void parallel_for(size_t begin, size_t end, Function&& function) {
  if (begin >= end) return;
  const int threads = thread_count();
  if (threads == 1 || end - begin == 1 || omp_in_parallel()) {
    for (size_t i = begin; i < end; ++i) function(i);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (size_t i = begin; i < end; ++i) {
    try {
      function(i);
    } catch (...) {
#pragma omp critical(psm_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace psm
