#include "cmd/timing/kernel_timer.h"

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ckks/base/error.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::cmd {
namespace {

using Clock = std::chrono::steady_clock;

// Kernels are plain functions, so what they measure is shared by all.
const ckks::Kernels* below = nullptr;
struct alignas(64) Nanoseconds {
  std::atomic<int64_t> sum;
};
std::array<Nanoseconds, kKernelKinds> elapsed;

// The kernel of a member of the table, timed. Arguments are pointers, references and numbers.
template <KernelKind kind, auto member, typename... Arguments>
void timed(Arguments... arguments) {
  const Clock::time_point begin = Clock::now();
  (below->*member)(arguments...);
  const std::chrono::nanoseconds passed = Clock::now() - begin;
  elapsed[static_cast<size_t>(kind)].sum.fetch_add(passed.count(), std::memory_order_relaxed);
}

ckks::Kernels timed_kernels() {
  using enum KernelKind;
  ckks::Kernels k;
  k.name = "timed";
  k.ntt_forward = timed<kNtt, &ckks::Kernels::ntt_forward>;
  k.ntt_inverse = timed<kNtt, &ckks::Kernels::ntt_inverse>;
  k.add = timed<kElementwise, &ckks::Kernels::add>;
  k.subtract = timed<kElementwise, &ckks::Kernels::subtract>;
  k.negate = timed<kElementwise, &ckks::Kernels::negate>;
  k.multiply = timed<kCiphertextProduct, &ckks::Kernels::multiply>;
  k.multiply_add = timed<kCiphertextProduct, &ckks::Kernels::multiply_add>;
  k.scale = timed<kElementwise, &ckks::Kernels::scale>;
  k.scale_add = timed<kElementwise, &ckks::Kernels::scale_add>;
  k.subtract_scale = timed<kElementwise, &ckks::Kernels::subtract_scale>;
  k.subtract_scale_add = timed<kElementwise, &ckks::Kernels::subtract_scale_add>;
  k.tensor_product = timed<kCiphertextProduct, &ckks::Kernels::tensor_product>;
  k.packed_inner_product_pair = timed<kKeyProduct, &ckks::Kernels::packed_inner_product_pair>;
  k.basis_convert = timed<kConversion, &ckks::Kernels::basis_convert>;
  k.nearest_multiples = timed<kConversion, &ckks::Kernels::nearest_multiples>;
  k.reduce_centered = timed<kConversion, &ckks::Kernels::reduce_centered>;
  k.automorphism = timed<kAutomorphism, &ckks::Kernels::automorphism>;
  k.matrix_product = timed<kPlaintextProduct, &ckks::Kernels::matrix_product>;
  k.run_matrix_product = timed<kPlaintextProduct, &ckks::Kernels::run_matrix_product>;
  return k;
}

}  // namespace

KernelTimer::KernelTimer() {
  static const ckks::Kernels table = timed_kernels();
  PSM_CHECK(below == nullptr, "two timers at once");
  below = &ckks::kernels();
  take();
  ckks::use_backend(table);
}

KernelTimer::~KernelTimer() {
  ckks::use_backend(*below);
  below = nullptr;
}

KernelTimes KernelTimer::take() {
  KernelTimes times;
  for (size_t kind = 0; kind < kKernelKinds; ++kind)
    times[kind] = 1e-9 * static_cast<double>(elapsed[kind].sum.exchange(0));
  return times;
}

}  // namespace psm::cmd
