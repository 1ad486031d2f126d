// Threads: a loop split evenly over OpenMP threads.
//
// Every iteration writes its own outputs, so results do not depend on the number of threads; where a sum is
// taken across iterations, the caller fixes its order. A loop inside a loop runs serially in its thread. An
// exception thrown by an iteration stops nothing that has begun, and is thrown again in the caller.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>
#include <mutex>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace psm {

// Threads that parallel_for uses: what set_thread_count said, or else all processors this process may use.
int thread_count();
// count >= 1; takes effect for the loops that start afterwards.
void set_thread_count(int count);

#if defined(__SANITIZE_THREAD__)
// The thread sanitiser does not see how the OpenMP library synchronises and would report every loop. Under
// it, the same chunks run on threads of the standard library.
inline thread_local bool in_parallel_loop = false;

template <typename Function>
void run_on_threads(size_t begin, size_t end, size_t threads, const Function& function) {
  std::vector<std::thread> team;
  for (size_t t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      in_parallel_loop = true;
      const size_t from = begin + (end - begin) * t / threads, to = begin + (end - begin) * (t + 1) / threads;
      for (size_t i = from; i < to; ++i) function(i);
    });
  }
  for (std::thread& thread : team) thread.join();
}
#endif

// Calls function(i) for i in [begin, end), in contiguous chunks of equal size.
template <typename Function>
void parallel_for(size_t begin, size_t end, Function&& function) {
  if (begin >= end) return;
  const int threads = thread_count();
#if defined(__SANITIZE_THREAD__)
  const bool nested = in_parallel_loop;
#else
  const bool nested = omp_in_parallel();
#endif
  if (threads == 1 || end - begin == 1 || nested) {
    for (size_t i = begin; i < end; ++i) function(i);
    return;
  }
  std::exception_ptr failure;
  std::mutex failing;
  const auto attempt = [&](size_t i) {
    try {
      function(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
#if defined(__SANITIZE_THREAD__)
  run_on_threads(begin, end, static_cast<size_t>(threads), attempt);
#else
#pragma omp parallel for schedule(static) num_threads(threads)
  for (size_t i = begin; i < end; ++i) attempt(i);
#endif
  if (failure) std::rethrow_exception(failure);
}

}  // namespace psm
