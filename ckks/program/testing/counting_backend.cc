#include "ckks/program/testing/counting_backend.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Kernels are plain functions, so what they count is shared by all.
const Kernels* below = nullptr;
uint64_t marked = 0;
struct {
  std::atomic<uint64_t> transforms, products, run_products, conversions, automorphisms, key_bits, others,
      marked_key_products;
} counted;

// A kernel that counts its call and passes it on.
template <auto kMember, auto kCount, typename... Args>
void counting(Args... args) {
  kCount(args...);
  (below->*kMember)(args...);
}
template <auto kMember, auto kCount, typename... Args>
void wrap(Kernels& k, void (*Kernels::*)(Args...)) {
  k.*kMember = counting<kMember, kCount, Args...>;
}
template <auto kMember, auto kCount>
void wrap(Kernels& k) {
  wrap<kMember, kCount>(k, kMember);
}

// The one size among the arguments of most kernels: residues.
uint64_t size_in(size_t n) { return n; }
template <typename Other>
uint64_t size_in(const Other&) {
  return 0;
}
constexpr auto kProducts = [](const auto&... args) { counted.products += (size_in(args) + ...); };
constexpr auto kOthers = [](const auto&... args) { counted.others += (size_in(args) + ...); };
constexpr auto kTransforms = [](auto, auto, const NttView& tables) {
  counted.transforms += size_t{1} << tables.log_n;
};

Kernels counting_kernels() {
  Kernels k;
  k.name = "counting";
  wrap<&Kernels::ntt_forward, kTransforms>(k);
  wrap<&Kernels::ntt_inverse, kTransforms>(k);
  wrap<&Kernels::add, kOthers>(k);
  wrap<&Kernels::subtract, kOthers>(k);
  wrap<&Kernels::negate, kOthers>(k);
  wrap<&Kernels::multiply, kProducts>(k);
  wrap<&Kernels::multiply_add, kProducts>(k);
  wrap<&Kernels::scale, kOthers>(k);
  wrap<&Kernels::scale_add, kOthers>(k);
  wrap<&Kernels::subtract_scale, kOthers>(k);
  wrap<&Kernels::subtract_scale_add, kOthers>(k);
  wrap<&Kernels::reduce_centered, kOthers>(k);
  wrap<&Kernels::tensor_product, [](auto, auto, auto, auto, auto, auto, auto, size_t count, size_t n,
                                    const Modulus&) { counted.products += 4 * count * n; }>(k);
  wrap<&Kernels::packed_inner_product_pair,
       [](auto, auto, auto, auto, auto, size_t count, size_t n, const Modulus& q) {
         counted.products += 2 * count * n;
         counted.key_bits += 2 * count * n * static_cast<size_t>(q.bits);
         if (q.value == marked) counted.marked_key_products += n;
       }>(k);
  wrap<&Kernels::basis_convert, [](auto, size_t out_count, auto, size_t in_count, auto, auto, size_t n) {
    counted.conversions += out_count * in_count * n;
  }>(k);
  wrap<&Kernels::nearest_multiples,
       [](auto, auto, auto, size_t count, size_t n) { counted.others += count * n; }>(k);
  wrap<&Kernels::automorphism,
       [](auto, auto, const AutomorphismView& table) { counted.automorphisms += table.n; }>(k);
  wrap<&Kernels::matrix_product,
       [](auto, size_t rows, auto, size_t cols, auto, size_t run, size_t n, const Modulus&, bool) {
         (run == 1 ? counted.products : counted.run_products) += rows * cols * n;
       }>(k);
  wrap<&Kernels::run_matrix_product, [](auto, size_t rows, auto, size_t cols, auto, size_t, size_t n,
                                        const Modulus&, bool) { counted.run_products += rows * cols * n; }>(
      k);
  return k;
}

}  // namespace

KernelCounter::KernelCounter(uint64_t marked_prime) {
  static const Kernels counting = counting_kernels();
  PSM_CHECK(below == nullptr, "two counters at once");
  below = &kernels();
  marked = marked_prime;
  take();
  use_backend(counting);
}

KernelCounter::~KernelCounter() {
  use_backend(*below);
  below = nullptr;
}

KernelResidues KernelCounter::take() {
  return {.transforms = counted.transforms.exchange(0),
          .products = counted.products.exchange(0),
          .run_products = counted.run_products.exchange(0),
          .conversions = counted.conversions.exchange(0),
          .automorphisms = counted.automorphisms.exchange(0),
          .key_bits = counted.key_bits.exchange(0),
          .others = counted.others.exchange(0),
          .marked_key_products = counted.marked_key_products.exchange(0)};
}

}  // namespace psm::ckks
