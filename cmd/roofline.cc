#include "cmd/roofline.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/backend.h"

namespace psm {
namespace {

// The shortest of the runs that fit in a fifth of a second: other processes only ever lengthen a run.
template <typename Body>
double least_seconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double least = 1e9;
  do {
    const auto begin = Clock::now();
    body();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < 0.2);
  return least;
}

double read_bandwidth() {
  constexpr size_t kWords = size_t{1} << 24;  // 128 MiB for each thread: beyond any cache
  const auto threads = static_cast<size_t>(thread_count());
  std::vector<Buffer> memory(threads);
  std::vector<uint64_t> sums(threads);
  parallel_for(0, threads, [&](size_t t) {
    memory[t] = Buffer(kWords);
    std::fill(memory[t].begin(), memory[t].end(), t);
  });
  const double seconds = least_seconds([&] {
    parallel_for(0, threads, [&](size_t t) {
      const uint64_t* words = memory[t].data();
      uint64_t sum[8] = {};  // independent sums: the loads wait for memory alone
      for (size_t i = 0; i < kWords; i += 8) {
        for (size_t k = 0; k < 8; ++k) sum[k] += words[i + k];
      }
      for (const uint64_t s : sum) sums[t] += s;
    });
    // The sums must be made: they are read by whatever could follow.
    asm volatile("" : : "r"(sums.data()) : "memory");
  });
  return static_cast<double>(threads * kWords * sizeof(uint64_t)) / seconds;
}

// Eight sums of 32 products in runs of 64 residues: each operand that is loaded serves many products. Threads
// share nothing here, so each takes its own time and the rates add up.
double multiply_accumulate_rate(const Modulus& q) {
  constexpr size_t kRows = 8, kCols = 32, kRun = 64, kCalls = 200;  // 20 KiB of operands and results
  const auto threads = static_cast<size_t>(thread_count());
  std::vector<double> rates(threads);
  parallel_for(0, threads, [&](size_t t) {
    Buffer operands(kCols * kRun), constants(kRows * kCols), sums(kRows * kRun);
    for (size_t i = 0; i < operands.size(); ++i) operands[i] = q.q - 1 - i;
    for (size_t i = 0; i < constants.size(); ++i) constants[i] = q.q - 1 - i;
    uint64_t* out[kRows];
    const uint64_t *a[kCols], *c[kRows * kCols];
    for (size_t r = 0; r < kRows; ++r) out[r] = sums.data() + r * kRun;
    for (size_t k = 0; k < kCols; ++k) a[k] = operands.data() + k * kRun;
    for (size_t k = 0; k < kRows * kCols; ++k) c[k] = constants.data() + k;
    const double seconds = least_seconds([&] {
      for (size_t call = 0; call < kCalls; ++call)
        kernels().run_matrix_product(out, kRows, a, kCols, c, kRun, kRun, q, false);
    });
    rates[t] = static_cast<double>(kRows * kCols * kRun * kCalls) / seconds;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

Machine measure_machine(const Ring& ring) {
  Machine machine;
  machine.bytes_per_second = read_bandwidth();
  machine.macs_per_second = multiply_accumulate_rate(ring.q(0));
  return machine;
}

double OperationCount::roofline_ms(const Machine& machine) const {
  const double moving = in_cache ? 0 : bytes / machine.bytes_per_second;
  return 1e3 * std::max(moving, macs / machine.macs_per_second);
}

double macs_of(const program::Work& work, int log_n) {
  using program::Kernel;
  const double products = work[Kernel::kMultiply] + work[Kernel::kConvert] + work[Kernel::kRunProduct];
  return static_cast<double>(size_t{1} << log_n) * (work[Kernel::kNtt] * log_n / 2 + products);
}

}  // namespace psm
