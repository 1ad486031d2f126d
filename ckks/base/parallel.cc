#include "ckks/base/parallel.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "ckks/base/error.h"

namespace psm {
namespace {

std::atomic<int> chosen_threads{0};
thread_local bool in_loop = false;

// How long a thread looks for work, or for the end of a loop, before it sleeps: about what waking costs.
// Whoever looks longer takes the processor from the thread that it waits for, when other programs run.
constexpr std::chrono::microseconds kSpin{20};
constexpr size_t kPiecesPerThread = 16;

int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// std::atomic's own wait yields before it sleeps, which on a busy machine is a turn of all other programs.
void sleep_while(const std::atomic<uint32_t>& value, uint32_t seen) {
  static_assert(sizeof(value) == sizeof(uint32_t));
  syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void wake_all(const std::atomic<uint32_t>& value) {
  syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Waits until `done` holds for the value, at first without sleeping.
template <typename Done>
void wait_until(const std::atomic<uint32_t>& value, const Done& done) {
  const auto sleep = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done(value.load(std::memory_order_acquire))) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < sleep);
  for (uint32_t seen = value.load(std::memory_order_acquire); !done(seen);
       seen = value.load(std::memory_order_acquire))
    sleep_while(value, seen);
}

// One loop at a time. Its caller is thread 0 and works like the others, so a loop ends even if no other comes.
class ThreadPool {
 public:
  // Returns whether the pool ran the loop; it does not while it runs the loop of another caller.
  bool run(size_t begin, size_t end, int threads, FunctionRef<void(size_t, size_t)> piece) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    // Also where there is no memory.
    struct Release {
      ~Release() { busy.clear(std::memory_order_release); }
      std::atomic_flag& busy;
    } const release{busy_};
    // A thread beyond the loop's length would find nothing.
    const auto count = std::min(static_cast<size_t>(threads), end - begin);
    start_workers(static_cast<int>(count) - 1);
    if (count > shares_.size()) shares_ = std::vector<Share>(count);
    for (size_t t = 0; t < count; ++t) {
      shares_[t].next.store(begin + (end - begin) * t / count, std::memory_order_relaxed);
      shares_[t].end = begin + (end - begin) * (t + 1) / count;
    }
    threads_ = count;
    length_ = std::max<size_t>(1, (end - begin) / (count * kPiecesPerThread));
    piece_ = &piece;
    failure_ = nullptr;
    entrants_.store(kOpen, std::memory_order_release);
    loops_.fetch_add(1, std::memory_order_release);
    wake_all(loops_);

    work(0);
    entrants_.fetch_sub(kOpen, std::memory_order_acq_rel);
    wait_until(entrants_, [](uint32_t entrants) { return entrants == 0; });
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  // A thread's stretch of the loop: pieces before `next` have been taken.
  struct alignas(64) Share {
    std::atomic<size_t> next;
    size_t end;
  };
  static constexpr uint32_t kOpen = 1, kEntrant = 2;

  // A machine that has no further thread to give leaves the work to those there are.
  void start_workers(int count) {
    while (workers_ < count && !exhausted_) {
      try {
        std::thread([this, number = static_cast<size_t>(workers_ + 1)] { serve(number); }).detach();
        ++workers_;
      } catch (const std::system_error&) {
        exhausted_ = true;
      }
    }
  }

  void serve(size_t number) {
    for (uint32_t seen = 0;;) {
      wait_until(loops_, [seen](uint32_t loops) { return loops != seen; });
      seen = loops_.load(std::memory_order_acquire);
      uint32_t entrants = entrants_.load(std::memory_order_relaxed);
      while ((entrants & kOpen) != 0 &&
             !entrants_.compare_exchange_weak(entrants, entrants + kEntrant, std::memory_order_acquire)) {
      }
      if ((entrants & kOpen) == 0) continue;
      if (number < threads_) work(number);
      if (entrants_.fetch_sub(kEntrant, std::memory_order_acq_rel) == kEntrant) wake_all(entrants_);
    }
  }

  void work(size_t number) {
    in_loop = true;
    try {
      for (size_t t = 0; t < threads_; ++t) {
        Share& share = shares_[(number + t) % threads_];
        for (;;) {
          const size_t from = share.next.fetch_add(length_, std::memory_order_relaxed);
          if (from >= share.end) break;
          (*piece_)(from, std::min(from + length_, share.end));
        }
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing_);
      if (!failure_) failure_ = std::current_exception();
    }
    in_loop = false;
  }

  std::atomic_flag busy_;
  int workers_ = 0;
  bool exhausted_ = false;

  // The loop, which changes only while nobody is inside.
  std::vector<Share> shares_;
  size_t threads_ = 0, length_ = 0;
  const FunctionRef<void(size_t, size_t)>* piece_ = nullptr;
  std::mutex failing_;
  std::exception_ptr failure_;

  std::atomic<uint32_t> loops_{0};     // begun so far
  std::atomic<uint32_t> entrants_{0};  // kOpen while threads may enter, and kEntrant for each inside
};

}  // namespace

int thread_count() {
  static const int processors = usable_processors();
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : processors;
}

void set_thread_count(int count) {
  if (count < 1) throw Error(message("--threads must be at least 1, got ", count));
  chosen_threads.store(count, std::memory_order_relaxed);
}

bool in_parallel_loop() { return in_loop; }

void run_pieces(size_t begin, size_t end, FunctionRef<void(size_t, size_t)> piece) {
  static ThreadPool& pool =
      *new ThreadPool;  // never destroyed: its threads sleep in it until the process ends
  if (!pool.run(begin, end, thread_count(), piece)) piece(begin, end);
}

}  // namespace psm
