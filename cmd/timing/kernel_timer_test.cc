#include "cmd/timing/kernel_timer.h"

#include <chrono>
#include <vector>

#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

double of(KernelKind kind, const KernelTimes& times) { return times[static_cast<size_t>(kind)]; }

TEST_CASE(
    "a kernel's seconds are counted for its kind, once, and its results are those of the backend below") {
  constexpr int kLogN = 12;
  constexpr size_t kN = size_t{1} << kLogN;
  const ckks::Modulus q(ckks::prime_near(0x1p40, kLogN, {}));
  const ckks::NttTables tables(kLogN, q);
  std::vector<uint64_t> a(kN), expected(kN), out(kN);
  for (size_t i = 0; i < kN; ++i) a[i] = (i * i + 1) % q.value;
  ckks::kernels().ntt_forward(expected.data(), a.data(), tables.view());
  const ckks::Kernels* before = &ckks::kernels();
  {
    KernelTimer timer;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) ckks::kernels().ntt_forward(out.data(), a.data(), tables.view());
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    const KernelTimes times = timer.take();
    CHECK(out == expected);
    CHECK(of(KernelKind::kNtt, times) > 0);
    CHECK(of(KernelKind::kNtt, times) <= all.count());
    CHECK(of(KernelKind::kElementwise, times) == 0);
    ckks::kernels().add(out.data(), a.data(), a.data(), kN, q);
    const KernelTimes next = timer.take();
    CHECK(of(KernelKind::kNtt, next) == 0);
    CHECK(of(KernelKind::kElementwise, next) > 0);
  }
  CHECK(&ckks::kernels() == before);
}

}  // namespace
}  // namespace psm::cmd
