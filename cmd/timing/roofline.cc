#include "cmd/timing/roofline.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {
namespace {

// The shortest of the runs that fit in a fifth of a second: other processes only ever lengthen a run.
template <typename Body>
double least_seconds(const Body& body) {
  return time_runs(1, 0.2, body).least;
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

// A basis conversion of 32 limbs to 16, in stretches of 128 residues: each residue that is loaded serves many
// products. Threads share nothing here, so each takes its own time and the rates add up.
double multiply_accumulate_rate(const ckks::Modulus& q) {
  constexpr size_t kOut = 16, kIn = 32, kLength = 128, kCalls = 100;  // 48 KiB of residues
  const auto threads = static_cast<size_t>(thread_count());
  std::vector<double> rates(threads);
  parallel_for(0, threads, [&](size_t t) {
    Buffer residues(kIn * kLength), constants(kOut * kIn), results(kOut * kLength);
    for (size_t i = 0; i < residues.size(); ++i) residues[i] = q.value - 1 - i;
    for (size_t i = 0; i < constants.size(); ++i) constants[i] = q.value - 1 - i;
    uint64_t* out[kOut];
    const uint64_t* in[kIn];
    for (size_t j = 0; j < kOut; ++j) out[j] = results.data() + j * kLength;
    for (size_t k = 0; k < kIn; ++k) in[k] = residues.data() + k * kLength;
    const std::vector<ckks::Modulus> moduli(kOut, q);
    const double seconds = least_seconds([&] {
      for (size_t call = 0; call < kCalls; ++call)
        ckks::kernels().basis_convert(out, kOut, in, kIn, constants.data(), moduli.data(), kLength);
    });
    rates[t] = static_cast<double>(kOut * kIn * kLength * kCalls) / seconds;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

MachineRates measure_machine(const ckks::Ring& ring) {
  MachineRates machine;
  machine.bytes_per_second = read_bandwidth();
  machine.macs_per_second = multiply_accumulate_rate(ring.q(0));
  return machine;
}

double OperationCount::roofline_ms(const MachineRates& machine) const {
  const double moving = in_cache ? 0 : bytes / machine.bytes_per_second;
  return 1e3 * std::max(moving, macs / machine.macs_per_second);
}

double macs_of(const program::Work& work, int log_n) {
  using program::WorkKind;
  const double products = work[WorkKind::kMultiply] + work[WorkKind::kConvert] + work[WorkKind::kRunProduct];
  return static_cast<double>(size_t{1} << log_n) * (work[WorkKind::kNtt] * log_n / 2 + products);
}

}  // namespace psm::cmd
