#include "ckks/base/parallel.h"

#include <atomic>

#include "ckks/base/error.h"

namespace psm {
namespace {

std::atomic<int> chosen_threads{0};

}  // namespace

int thread_count() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : omp_get_num_procs();
}

void set_thread_count(int count) {
  if (count < 1) throw Error(message("--threads must be at least 1, got ", count));
  chosen_threads.store(count, std::memory_order_relaxed);
}

}  // namespace psm
