// What tests of block programs share: rings of every size with long and short
// primes, residues with extremes among them, and a device that they are put on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/device/testing/test_device.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/ring.h"
#include "doctest/doctest.h"

namespace psm::ckks {

using Words = std::vector<uint64_t>;

inline constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kReversed,
                                          ThreadOrder::kShuffled};

inline const Kernels &scalar() { return *available_backends().front(); }

// Random residues, with 0 and q - 1 sprinkled between.
inline Words residues(size_t n, const Modulus &q, TrainingRandom &random) {
  Words limb(n);
  for (uint64_t &x : limb) {
    const uint64_t kind = random.integer(8);
    x = kind == 0 ? 0 : kind == 1 ? q.value - 1 : random.integer(q.value);
  }
  limb.front() = limb.back() = q.value - 1;
  return limb;
}

// A device, what was put there, and what comes back.
class ProgramBench {
 public:
  explicit ProgramBench(ThreadOrder order)
      : owned(test_device({.order = order, .guarded = true, .arena_bytes = 1 << 30})), device(*owned) {}

  uint64_t *room(size_t words) { return buffers_.emplace_back(words, &device).data(); }
  template <class T>
  const T *put(const T *values, size_t count) {
    const size_t words = (count * sizeof(T) + 7) / 8;
    Words host(words);
    std::copy_n(values, count, reinterpret_cast<T *>(host.data()));
    uint64_t *to = room(words);
    device.upload(to, host.data(), words);
    return reinterpret_cast<const T *>(to);
  }
  uint64_t *put(const Words &words) { return const_cast<uint64_t *>(put(words.data(), words.size())); }
  Words get(const uint64_t *from, size_t words) {
    Words out(words);
    device.download(out.data(), from, words);
    return out;
  }
  // The tables of all primes of a ring.
  const PrimeView *views(const Ring &ring) {
    std::vector<PrimeView> views;
    for (int i = 0; i < ring.full_basis().limbs(); ++i)
      views.push_back(prime_view(
          ring.ntt(i), [&](const std::vector<double> &table) { return put(table.data(), table.size()); }));
    return put(views.data(), views.size());
  }

  const std::unique_ptr<Device> owned;
  Device &device;

 private:
  std::vector<Buffer> buffers_;
};

// Calls with every size of ring, and a bench for every order of threads; a GPU has an order of its own.
inline void for_each_setting(const std::function<void(const Ring &, ProgramBench &)> &body) {
  for (int log_n = kMinDeviceLogN; log_n <= kMaxDeviceLogN; ++log_n) {
    std::vector<uint64_t> q = ntt_primes(50, log_n, 2), p = ntt_primes(32, log_n, 2);
    q.push_back(ntt_primes(log_n + 4, log_n, 1)[0]);
    const Ring ring(log_n, q, p);
    for (const ThreadOrder order : kOrders) {
      CAPTURE(log_n);
      CAPTURE(static_cast<int>(order));
      if (order != kOrders[0] && !tests_emulate()) continue;
      ProgramBench bench(order);
      body(ring, bench);
    }
  }
}

// Rows and columns.
inline void launch_both(Device &device, NttDirection direction, const NttBatch &batch) {
  with_column_bits(batch.log_n, [&](auto bits) {
    if (direction == NttDirection::kForward) {
      device.launch(NttColumns<decltype(bits)::value, NttDirection::kForward>{batch});
      device.launch(NttRows<NttDirection::kForward>{batch});
    } else {
      device.launch(NttRows<NttDirection::kInverse>{batch});
      device.launch(NttColumns<decltype(bits)::value, NttDirection::kInverse>{batch});
    }
  });
}

}  // namespace psm::ckks
