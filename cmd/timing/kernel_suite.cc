#include "cmd/timing/kernel_suite.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/random/training_random.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {
namespace {

// Processor time of this thread.
double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Operands {
  // Primes nearest to `target`.
  Operands(int log_n, double target, int limb_count) : n(size_t{1} << log_n) {
    TrainingRandom random(1);
    std::vector<uint64_t> primes;
    for (int i = 0; i < limb_count; ++i) {
      const uint64_t prime = ckks::prime_near(target, log_n, primes);
      primes.push_back(prime);
      moduli.emplace_back(prime);
      tables.push_back(std::make_unique<ckks::NttTables>(log_n, moduli.back()));
      limbs.emplace_back(n);
      for (uint64_t& x : limbs.back()) x = random.integer(prime >> 1);
      pointers.push_back(limbs.back().data());
      writable.push_back(limbs.back().data());
    }
    for (int i = 0; i < 16; ++i) outputs.emplace_back(n);
    for (Buffer& out : outputs) {
      for (uint64_t& x : out) x = 0;
      out_pointers.push_back(out.data());
    }
  }

  size_t n;
  std::vector<ckks::Modulus> moduli;
  std::vector<std::unique_ptr<ckks::NttTables>> tables;
  std::vector<Buffer> limbs, outputs;
  std::vector<const uint64_t*> pointers;
  std::vector<uint64_t*> writable, out_pointers;
};

void time_backend(const ckks::Kernels& k, Operands& b, int repetitions, Figures& figures) {
  const size_t n = b.n, count = b.limbs.size();
  const ckks::Modulus& q0 = b.moduli[0];
  const auto row = [&](const char* name, const std::function<void(size_t)>& body) {
    const auto times = [&](size_t limbs) {
      body(0);
      size_t i = 0;
      return time_runs(
          repetitions, 0, [&] { body(i++ % limbs); }, processor_seconds);
    };
    const Times near = times(1), far = times(count);
    figures.row()
        .both("name", "kernel", name)
        .both("backend", "backend", k.name)
        .both("prime_bits", "prime bits", q0.bits)
        .number("near_median_us", "near us", 1e6 * near.median, "%.1f")
        .number("near_min_us", "least", 1e6 * near.least, "%.1f")
        .number("far_median_us", "far us", 1e6 * far.median, "%.1f")
        .number("far_min_us", "least", 1e6 * far.least, "%.1f");
  };
  row("ntt_forward", [&](size_t i) { k.ntt_forward(b.writable[i], b.writable[i], *b.tables[i]); });
  row("ntt_inverse", [&](size_t i) { k.ntt_inverse(b.writable[i], b.writable[i], *b.tables[i]); });
  row("add", [&](size_t i) { k.add(b.writable[i], b.pointers[i], b.out_pointers[0], n, b.moduli[i]); });
  row("multiply",
      [&](size_t i) { k.multiply(b.writable[i], b.pointers[i], b.out_pointers[0], n, b.moduli[i]); });
  row("multiply_add",
      [&](size_t i) { k.multiply_add(b.out_pointers[0], b.pointers[i], b.pointers[i], n, b.moduli[i]); });
  row("subtract_scale", [&](size_t i) {
    k.subtract_scale(b.writable[i], b.pointers[i], b.out_pointers[0], b.moduli[i].one, n, b.moduli[i]);
  });
  row("reduce_centered",
      [&](size_t i) { k.reduce_centered(b.out_pointers[0], b.pointers[i], n, b.moduli[i], q0); });
  const auto rotation =
      ckks::automorphism_table(ckks::rotation_element(1, b.tables[0]->log_n()), b.tables[0]->log_n());
  row("automorphism", [&](size_t i) { k.automorphism(b.out_pointers[0], b.pointers[i], *rotation); });
  // What is read as packed residues may be anything.
  std::vector<const uint8_t*> packed;
  for (const uint64_t* limb : b.pointers) packed.push_back(reinterpret_cast<const uint8_t*>(limb));
  row("packed_inner_product_pair, 6 digits", [&](size_t i) {
    const size_t first = i % (count - 6);
    k.packed_inner_product_pair(b.out_pointers[0], b.out_pointers[1], b.pointers.data() + first,
                                packed.data() + first, packed.data() + first, 6, n, q0);
  });
  std::vector<uint64_t> constants(4 * 6, q0.value / 3);
  row("basis_convert, 6 to 4 limbs", [&](size_t i) {
    k.basis_convert(b.out_pointers.data(), 4, b.pointers.data() + i % (count - 6), 6, constants.data(),
                    b.moduli.data(), n);
  });
  // Sixteen sums of 24 products with runs of 128 residues.
  constexpr size_t kRows = 16, kCols = 24;
  const size_t run = std::min<size_t>(128, n);
  const std::vector<uint64_t> constants_of_runs(n / run * kRows * kCols, q0.value / 3);
  row("run_matrix_product, 16 x 24", [&](size_t i) {
    k.run_matrix_product(b.out_pointers.data(), kRows, b.pointers.data() + i % (count - kCols), kCols,
                         constants_of_runs.data(), run, n, q0, false);
  });
}

}  // namespace

Figures kernel_suite(int log_n, int repetitions) {
  constexpr int kLimbs = 32;
  Figures figures;
  for (const double target : {0x1p40, 0x1p49 - 0x1p40, 0x1p50 - 0x1p30}) {
    Operands operands(log_n, target, kLimbs);
    for (const ckks::Kernels* backend : ckks::available_backends())
      time_backend(*backend, operands, repetitions, figures);
  }
  return figures;
}

}  // namespace psm::cmd
