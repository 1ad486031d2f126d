// Times every kernel of every backend this processor can run on one thread: medians, and minima in brackets.
//
//   bazel run //ckks/ring:kernels_bench -- --log_n 16
//
// "near" repeats on the same limbs and tables, which stay in the caches; "far" goes round many limbs with a
// prime and tables of their own, as a key switch does, so that data and tables come from memory.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/processor.h"
#include "ckks/base/random/training_random.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"

namespace psm {
namespace {

// Processor time of this thread: other processes on the machine lengthen the clock's time, not this one.
double microseconds_now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Microseconds {
  double median, minimum;
};

Microseconds microseconds(int repetitions, const std::function<void(int)>& body) {
  body(0);
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const double start = microseconds_now();
    body(i);
    times.push_back(microseconds_now() - start);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

struct Bench {
  // Primes nearest to `target`.
  Bench(int log_n, double target, int limb_count) : n(size_t{1} << log_n) {
    TrainingRandom random(1);
    std::vector<uint64_t> primes;
    for (int i = 0; i < limb_count; ++i) {
      const uint64_t prime = prime_near(target, log_n, primes);
      primes.push_back(prime);
      moduli.emplace_back(prime);
      tables.push_back(std::make_unique<NttTables>(log_n, moduli.back()));
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
  std::vector<Modulus> moduli;
  std::vector<std::unique_ptr<NttTables>> tables;
  std::vector<Buffer> limbs, outputs;
  std::vector<const uint64_t*> pointers;
  std::vector<uint64_t*> writable, out_pointers;
};

void print_row(const char* name, Microseconds near, Microseconds far) {
  std::printf("  %-34s %9.1f (%.1f) %9.1f (%.1f)\n", name, near.median, near.minimum, far.median,
              far.minimum);
}

void bench_backend(const Kernels& k, Bench& b, int repetitions) {
  const size_t n = b.n, count = b.limbs.size();
  const Modulus& q0 = b.moduli[0];
  const auto row = [&](const char* name, const std::function<void(size_t)>& body) {
    const Microseconds near = microseconds(repetitions, [&](int) { body(0); });
    const Microseconds far = microseconds(repetitions, [&](int i) { body(static_cast<size_t>(i) % count); });
    print_row(name, near, far);
  };
  std::printf(" %s, %d-bit primes: microseconds          near                far\n", k.name, q0.bits);
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
  const auto rotation = automorphism_table(rotation_element(1, b.tables[0]->log_n()), b.tables[0]->log_n());
  row("automorphism", [&](size_t i) { k.automorphism(b.out_pointers[0], b.pointers[i], *rotation); });
  // What is read as packed residues may be anything.
  std::vector<const uint8_t*> packed;
  for (const uint64_t* limb : b.pointers) packed.push_back(reinterpret_cast<const uint8_t*>(limb));
  row("packed_inner_product_pair, 6 digits", [&](size_t i) {
    const size_t first = i % (count - 6);
    k.packed_inner_product_pair(b.out_pointers[0], b.out_pointers[1], b.pointers.data() + first,
                                packed.data() + first, packed.data() + first, 6, n, q0);
  });
  std::vector<uint64_t> constants(4 * 6, q0.q / 3);
  row("basis_convert, 6 to 4 limbs", [&](size_t i) {
    k.basis_convert(b.out_pointers.data(), 4, b.pointers.data() + i % (count - 6), 6, constants.data(),
                    b.moduli.data(), n);
  });
  // Sixteen sums of 24 products with runs of 128 residues.
  constexpr size_t kRows = 16, kCols = 24;
  const size_t run = std::min<size_t>(128, n);
  std::vector<uint64_t> runs(n / run, q0.q / 3);
  const std::vector<const uint64_t*> coefficients(kRows * kCols, runs.data());
  row("run_matrix_product, 16 x 24", [&](size_t i) {
    k.run_matrix_product(b.out_pointers.data(), kRows, b.pointers.data() + i % (count - kCols), kCols,
                         coefficients.data(), run, n, q0, false);
  });
}

int bench(int argc, char** argv) {
  Flags flags("bazel run //ckks/ring:kernels_bench -- [flags]",
              "Times the kernels of every backend on one thread.");
  const int64_t& log_n = flags.integer("log_n", 16, 6, 17, "log2 of the ring's dimension");
  const int64_t& repetitions =
      flags.integer("repetitions", 200, 1, 100000, "repetitions of each measurement");
  flags.parse(argc, argv);
  std::printf("%s, N = 2^%d\n", processor_name().c_str(), static_cast<int>(log_n));
  // Computing levels, then the two sides of what a backend does for long primes; the last are special
  // primes'.
  for (double target : {0x1p40, 0x1p49 - 0x1p40, 0x1p50 - 0x1p30}) {
    Bench b(static_cast<int>(log_n), target, 32);
    for (const Kernels* backend : available_backends())
      bench_backend(*backend, b, static_cast<int>(repetitions));
  }
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::bench(argc, argv); });
}
