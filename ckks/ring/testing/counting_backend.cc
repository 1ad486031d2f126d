#include "ckks/ring/testing/counting_backend.h"

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

Kernels counting_kernels() {
  Kernels k;
  k.name = "counting";
  k.ntt_forward = [](uint64_t* out, const uint64_t* a, const NttView& tables) {
    counted.transforms += size_t{1} << tables.log_n;
    below->ntt_forward(out, a, tables);
  };
  k.ntt_inverse = [](uint64_t* out, const uint64_t* a, const NttView& tables) {
    counted.transforms += size_t{1} << tables.log_n;
    below->ntt_inverse(out, a, tables);
  };
  k.add = [](uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
    counted.others += n;
    below->add(out, a, b, n, q);
  };
  k.subtract = [](uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
    counted.others += n;
    below->subtract(out, a, b, n, q);
  };
  k.negate = [](uint64_t* out, const uint64_t* a, size_t n, const Modulus& q) {
    counted.others += n;
    below->negate(out, a, n, q);
  };
  k.multiply = [](uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
    counted.products += n;
    below->multiply(out, a, b, n, q);
  };
  k.multiply_add = [](uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
    counted.products += n;
    below->multiply_add(out, a, b, n, q);
  };
  k.scale = [](uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q) {
    counted.others += n;
    below->scale(out, a, c, n, q);
  };
  k.scale_add = [](uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q) {
    counted.others += n;
    below->scale_add(out, a, c, n, q);
  };
  k.subtract_scale = [](uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, size_t n,
                        const Modulus& q) {
    counted.others += n;
    below->subtract_scale(out, a, b, c, n, q);
  };
  k.subtract_scale_add = [](uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c,
                            const uint64_t* d, size_t n, const Modulus& q) {
    counted.others += n;
    below->subtract_scale_add(out, a, b, c, d, n, q);
  };
  k.tensor_product = [](uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                        const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                        size_t count, size_t n, const Modulus& q) {
    counted.products += 4 * count * n;
    below->tensor_product(out0, out1, out2, a0, a1, b0, b1, count, n, q);
  };
  k.packed_inner_product_pair = [](uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                                   const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                                   const Modulus& q) {
    counted.products += 2 * count * n;
    counted.key_bits += 2 * count * n * static_cast<size_t>(q.bits);
    if (q.value == marked) counted.marked_key_products += n;
    below->packed_inner_product_pair(out0, out1, a, b0, b1, count, n, q);
  };
  k.basis_convert = [](uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                       const uint64_t* c, const Modulus* p, size_t n) {
    counted.conversions += out_count * in_count * n;
    below->basis_convert(out, out_count, y, in_count, c, p, n);
  };
  k.nearest_multiples = [](uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                           size_t n) {
    counted.others += count * n;
    below->nearest_multiples(u, y, reciprocals, count, n);
  };
  k.reduce_centered = [](uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to) {
    counted.others += n;
    below->reduce_centered(out, a, n, from, to);
  };
  k.automorphism = [](uint64_t* out, const uint64_t* a, const AutomorphismView& table) {
    counted.automorphisms += table.n;
    below->automorphism(out, a, table);
  };
  k.matrix_product = [](uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* const* c, size_t run, size_t n, const Modulus& q, bool accumulate) {
    (run == 1 ? counted.products : counted.run_products) += rows * cols * n;
    below->matrix_product(out, rows, a, cols, c, run, n, q, accumulate);
  };
  k.run_matrix_product = [](uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                            const uint64_t* c, size_t run, size_t n, const Modulus& q, bool accumulate) {
    counted.run_products += rows * cols * n;
    below->run_matrix_product(out, rows, a, cols, c, run, n, q, accumulate);
  };
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
