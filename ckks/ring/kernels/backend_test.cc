#include "ckks/ring/kernels/backend.h"

#include <algorithm>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/ring/arithmetic/packing.h"
#include "ckks/ring/arithmetic/primes.h"

namespace psm::ckks {
namespace {

using Limb = std::vector<uint64_t>;

// Random residues, with 0 and q - 1 at the ends and sprinkled between.
Limb random_limb(size_t n, const Modulus& q, TrainingRandom& random) {
  Limb limb(n);
  for (uint64_t& x : limb) {
    const uint64_t kind = random.integer(8);
    x = kind == 0 ? 0 : kind == 1 ? q.value - 1 : random.integer(q.value);
  }
  limb.front() = q.value - 1;
  limb.back() = q.value - 1;
  return limb;
}

std::vector<uint64_t*> pointers(std::vector<Limb>& limbs) {
  std::vector<uint64_t*> result;
  for (Limb& limb : limbs) result.push_back(limb.data());
  return result;
}

TEST_CASE("the transform evaluates at the odd powers of psi in bit-reversed order") {
  for (const Kernels* backend : available_backends()) {
    for (int log_n : {3, 4, 6, 8}) {
      const Modulus q(prime_near(0x1p50 - 0x1p30, log_n));
      const NttTables tables(log_n, q);
      TrainingRandom random(1);
      const Limb a = random_limb(tables.n(), q, random);
      Limb transformed = a;
      backend->ntt_forward(transformed.data(), transformed.data(), tables);
      for (size_t j = 0; j < tables.n(); ++j) {
        const uint64_t point = pow_mod(tables.psi(), 2 * reverse_bits(j, log_n) + 1, q);
        uint64_t value = 0;
        for (size_t i = tables.n(); i-- > 0;) value = add_mod(mul_mod(value, point, q), a[i], q);
        REQUIRE(transformed[j] == value);
      }
    }
  }
}

// Where lazy values come nearest to their limits: the primes = 1 mod 2^(log_n + 1) next below 2^bits and next
// above 2^(bits - 1), and those on both sides of 2^50 - 2^40, above which a backend may take other ways.
std::vector<uint64_t> extreme_primes(int bits, int log_n) {
  const uint64_t step = uint64_t{2} << log_n;
  const auto next = [&](uint64_t from, uint64_t stride) {
    uint64_t candidate = from + 1;
    do candidate += stride;
    while (!is_prime(candidate));
    return candidate;
  };
  const uint64_t end = uint64_t{1} << bits;
  std::vector<uint64_t> primes = {next(end, 0 - step), next(end / 2, step)};
  if (bits == 50) {
    const uint64_t middle = end - (uint64_t{1} << 40);
    primes.insert(primes.end(), {next(middle, 0 - step), next(middle, step)});
  }
  return primes;
}

TEST_CASE("transforms have the reference's bits, for the largest and the smallest primes of every length") {
  const Kernels& reference = *available_backends().front();
  const auto check = [&](int bits, int log_n) {
    for (uint64_t prime : extreme_primes(bits, log_n)) {
      const Modulus q(prime);
      const NttTables tables(log_n, q);
      const size_t n = tables.n();
      TrainingRandom random(11);
      Limb half = random_limb(n, q, random);
      std::fill(half.begin(), half.begin() + static_cast<ptrdiff_t>(n / 2), q.value - 1);
      for (const Limb& a : {half, Limb(n, q.value - 1), Limb(n, 0)}) {
        Limb expected(n), back(n);
        reference.ntt_forward(expected.data(), a.data(), tables);
        reference.ntt_inverse(back.data(), a.data(), tables);
        for (const Kernels* backend : available_backends()) {
          CAPTURE(std::string(backend->name));
          CAPTURE(log_n);
          CAPTURE(prime);
          Limb forward(n), inverse(n), in_place = a;
          backend->ntt_forward(forward.data(), a.data(), tables);
          backend->ntt_inverse(inverse.data(), a.data(), tables);
          REQUIRE(forward == expected);
          REQUIRE(inverse == back);
          backend->ntt_forward(in_place.data(), in_place.data(), tables);
          REQUIRE(in_place == expected);
          backend->ntt_inverse(in_place.data(), in_place.data(), tables);
          REQUIRE(in_place == a);
        }
      }
    }
  };
  for (int log_n = 3; log_n <= 12; ++log_n) {
    check(24, log_n);
    for (int bits = 30; bits <= 50; ++bits) check(bits, log_n);
  }
  for (int log_n = 13; log_n <= 17; ++log_n) {
    for (int bits : {24, 36, 40, 45, 47, 49, 50}) check(bits, log_n);
  }
}

TEST_CASE("elementwise kernels agree with arithmetic on single residues") {
  for (const Kernels* backend : available_backends()) {
    for (int log_n : {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16}) {
      for (double size : {0x1p24, 0x1p36, 0x1p40, 0x1p49, 0x1.fffp49}) {
        const Modulus q(prime_near(size, log_n));
        CAPTURE(std::string(backend->name));
        CAPTURE(log_n);
        CAPTURE(q.value);
        const size_t n = size_t{1} << log_n;
        TrainingRandom random(4);
        const Limb a = random_limb(n, q, random), b = random_limb(n, q, random),
                   start = random_limb(n, q, random);
        for (uint64_t constant : {uint64_t{0}, uint64_t{1}, random.integer(q.value), q.value - 1}) {
          const Multiplier c = make_multiplier(constant, q);
          Limb sum(n), difference(n), product(n), product_sum = start, scaled(n), scaled_sum = start,
                                                  difference_scaled(n), difference_scaled_sum(n);
          backend->add(sum.data(), a.data(), b.data(), n, q);
          backend->subtract(difference.data(), a.data(), b.data(), n, q);
          backend->multiply(product.data(), a.data(), b.data(), n, q);
          backend->multiply_add(product_sum.data(), a.data(), b.data(), n, q);
          backend->scale(scaled.data(), a.data(), c, n, q);
          backend->scale_add(scaled_sum.data(), a.data(), c, n, q);
          backend->subtract_scale(difference_scaled.data(), a.data(), b.data(), c, n, q);
          backend->subtract_scale_add(difference_scaled_sum.data(), a.data(), b.data(), c, start.data(), n,
                                      q);
          bool equal = true;
          for (size_t i = 0; i < n; ++i) {
            const uint64_t x = a[i], y = b[i], s = start[i];
            equal &= sum[i] == (x + y) % q.value && difference[i] == (x + q.value - y) % q.value &&
                     product[i] == static_cast<uint64_t>(uint128_t{x} * y % q.value) &&
                     product_sum[i] == static_cast<uint64_t>((uint128_t{x} * y + s) % q.value) &&
                     scaled[i] == static_cast<uint64_t>(uint128_t{x} * constant % q.value) &&
                     scaled_sum[i] == static_cast<uint64_t>((uint128_t{x} * constant + s) % q.value) &&
                     difference_scaled[i] ==
                         static_cast<uint64_t>(uint128_t{(x + q.value - y) % q.value} * constant % q.value) &&
                     difference_scaled_sum[i] == (difference_scaled[i] + s) % q.value;
          }
          REQUIRE(equal);
        }
      }
    }
  }
}

TEST_CASE("inner products reduce the exact sum, whatever the number of terms") {
  for (const Kernels* backend : available_backends()) {
    for (size_t count : {1, 2, 3, 7, 8, 15, 16, 17, 31, 40, 100, 300}) {
      for (double size : {0x1p24, 0x1p40, 0x1p41, 0x1p47, 0x1p50 - 0x1p30}) {
        const size_t n = 72;  // not a multiple of what a loop takes at once
        const Modulus q(prime_near(size, 5));
        TrainingRandom random(5);
        std::vector<Limb> a(count), b0(count), b1(count);
        std::vector<std::vector<uint8_t>> packed0(count), packed1(count);
        std::vector<const uint8_t*> pointers0, pointers1;
        for (size_t k = 0; k < count; ++k) {
          a[k] = count % 2 ? Limb(n, q.value - 1) : random_limb(n, q, random);
          b0[k] = count % 3 ? Limb(n, q.value - 1) : random_limb(n, q, random);
          b1[k] = random_limb(n, q, random);
          for (auto* packed : {&packed0[k], &packed1[k]}) packed->assign(packed_bytes(n, q.value) + 64, 0xff);
          pack_residues(packed0[k].data(), b0[k].data(), n, q.value);
          pack_residues(packed1[k].data(), b1[k].data(), n, q.value);
          pointers0.push_back(packed0[k].data());
          pointers1.push_back(packed1[k].data());
        }
        Limb product0(n), product1(n), product2(n), pair0(n), pair1(n);
        // (a + b1 s) (b0 + a s)
        backend->tensor_product(product0.data(), product1.data(), product2.data(), pointers(a).data(),
                                pointers(b1).data(), pointers(b0).data(), pointers(a).data(), count, n, q);
        backend->packed_inner_product_pair(pair0.data(), pair1.data(), pointers(a).data(), pointers0.data(),
                                           pointers1.data(), count, n, q);
        for (size_t i = 0; i < n; ++i) {
          uint128_t sum0 = 0, sum1 = 0, middle = 0;
          for (size_t k = 0; k < count; ++k) {
            sum0 += uint128_t{a[k][i]} * b0[k][i];
            sum1 += uint128_t{a[k][i]} * b1[k][i];
            middle += uint128_t{a[k][i]} * a[k][i] + uint128_t{b1[k][i]} * b0[k][i];
          }
          REQUIRE(product0[i] == static_cast<uint64_t>(sum0 % q.value));
          REQUIRE(product1[i] == static_cast<uint64_t>(middle % q.value));
          REQUIRE(product2[i] == static_cast<uint64_t>(sum1 % q.value));
          REQUIRE(pair0[i] == static_cast<uint64_t>(sum0 % q.value));
          REQUIRE(pair1[i] == static_cast<uint64_t>(sum1 % q.value));
        }
      }
    }
  }
}

TEST_CASE("basis conversion is the exact sum of digits times constants modulo each output prime") {
  for (const Kernels* backend : available_backends()) {
    for (size_t in_count : {1, 5, 6, 16, 17, 33}) {
      for (size_t out_count : {1, 2, 3, 4, 5, 7}) {
        const size_t n = 264;  // not a multiple of any tile
        TrainingRandom random(6);
        std::vector<Limb> y, out(out_count, Limb(n));
        std::vector<Modulus> p;
        Limb c;
        // The digits are larger than some of the outputs' primes. Sums of many are as large as they can be.
        const bool largest_sum = in_count > 15;
        const Modulus largest(prime_near(0x1p50 - 0x1p30, 5));
        for (size_t i = 0; i < in_count; ++i) {
          y.push_back(largest_sum ? Limb(n, largest.value - 1) : random_limb(n, largest, random));
        }
        for (size_t j = 0; j < out_count; ++j) {
          const double largest_target = 0x1p50 - 0x1p20 * static_cast<double>(j);
          p.emplace_back(prime_near((in_count + j) % 2 ? 0x1p30 : largest_target, 5));
        }
        for (size_t j = 0; j < out_count; ++j) {
          for (size_t i = 0; i < in_count; ++i)
            c.push_back(i == 0 || largest_sum ? p[j].value - 1 : random.integer(p[j].value));
        }
        backend->basis_convert(pointers(out).data(), out_count, pointers(y).data(), in_count, c.data(),
                               p.data(), n);
        for (size_t j = 0; j < out_count; ++j) {
          for (size_t i = 0; i < n; ++i) {
            uint128_t sum = 0;
            for (size_t k = 0; k < in_count; ++k) sum += uint128_t{y[k][i]} * c[j * in_count + k];
            REQUIRE(out[j][i] == static_cast<uint64_t>(sum % p[j].value));
          }
        }
      }
    }
  }
}

TEST_CASE("the nearest multiple of a sum of quotients is the reference's, halves included") {
  const Kernels& reference = *available_backends().front();
  for (const Kernels* backend : available_backends()) {
    for (size_t count : {1, 2, 7, 16}) {
      const size_t n = 264;
      TrainingRandom random(11);
      std::vector<Limb> y;
      std::vector<double> reciprocals;
      for (size_t i = 0; i < count; ++i) {
        const Modulus q(prime_near(i % 2 ? 0x1p40 : 0x1p50 - 0x1p30, 5));
        y.push_back(random_limb(n, q, random));
        y.back()[3] = q.value / 2;
        y.back()[4] = q.value / 2 + 1;
        reciprocals.push_back(1.0 / static_cast<double>(q.value));
      }
      Limb expected(n), actual(n);
      reference.nearest_multiples(expected.data(), pointers(y).data(), reciprocals.data(), count, n);
      backend->nearest_multiples(actual.data(), pointers(y).data(), reciprocals.data(), count, n);
      CHECK(actual == expected);
      CHECK(expected[0] == count);  // every y is q - 1
    }
  }
}

TEST_CASE("residues go to another modulus as centred numbers") {
  for (const Kernels* backend : available_backends()) {
    for (double from_size : {0x1p28, 0x1p40, 0x1p50 - 0x1p30}) {
      for (double to_size : {0x1p27, 0x1p41, 0x1p50 - 0x1p31}) {
        const Modulus from(prime_near(from_size, 5)), to(prime_near(to_size, 5));
        TrainingRandom random(7);
        Limb a = random_limb(256, from, random), centred(256);
        a[1] = from.value / 2;
        a[2] = from.value / 2 + 1;
        backend->reduce_centered(centred.data(), a.data(), a.size(), from, to);
        for (size_t i = 0; i < a.size(); ++i) {
          const __int128 value = a[i] > from.value / 2 ? static_cast<__int128>(a[i]) - from.value : a[i];
          REQUIRE(centred[i] == static_cast<uint64_t>(((value % to.value) + to.value) % to.value));
        }
      }
    }
  }
}

TEST_CASE("the automorphism of a transform is the transform of a(X^g)") {
  for (const Kernels* backend : available_backends()) {
    for (int log_n : {3, 4, 5, 8, 12}) {
      const Modulus q(prime_near(0x1p40, log_n));
      const NttTables tables(log_n, q);
      const size_t n = tables.n();
      TrainingRandom random(8);
      const Limb a = random_limb(n, q, random);
      for (GaloisElement g :
           {GaloisElement{1}, GaloisElement{3}, rotation_element(1, log_n), rotation_element(-3, log_n),
            rotation_element(5, log_n), (GaloisElement{2} << log_n) - 1}) {
        Limb expected(n);
        for (size_t i = 0; i < n; ++i) {
          const size_t exponent = i * g % (2 * n);
          expected[exponent % n] = exponent < n ? a[i] : negate_mod(a[i], q);
        }
        backend->ntt_forward(expected.data(), expected.data(), tables);
        Limb transformed = a, moved(n);
        backend->ntt_forward(transformed.data(), transformed.data(), tables);
        backend->automorphism(moved.data(), transformed.data(), *automorphism_table(g, log_n));
        CAPTURE(g);
        REQUIRE(moved == expected);
        // Tile by tile.
        for (size_t size = 8; size <= n; size *= 4) {
          const auto table = automorphism_table(g, log_n);
          Limb tiled(n);
          for (size_t begin = 0; begin < n; begin += size) {
            backend->automorphism(tiled.data() + begin, transformed.data() + table->source_begin(begin, size),
                                  table->tile(begin, size));
          }
          REQUIRE(tiled == expected);
        }
      }
    }
  }
}

TEST_CASE("run matrix products are matrix products in every run") {
  for (const Kernels* backend : available_backends()) {
    for (size_t run : {1, 2, 4, 8, 16, 64, 128}) {
      for (size_t rows : {1, 2, 3, 4, 5, 9}) {
        for (size_t cols : {1, 3, 16, 17, 40, 130}) {
          const size_t n = 512;
          const Modulus q(prime_near(0x1p50 - 0x1p30, 9));
          TrainingRandom random(10);
          std::vector<Limb> a(cols), c(rows * cols), out(rows);
          for (Limb& limb : a) limb = cols >= 40 ? Limb(n, q.value - 1) : random_limb(n, q, random);
          for (Limb& limb : c)
            limb = cols >= 40 ? Limb(n / run, q.value - 1) : random_limb(n / run, q, random);
          for (Limb& limb : out) limb = random_limb(n, q, random);
          const std::vector<Limb> start = out;
          for (bool accumulate : {false, true}) {
            out = start;
            if (run < 8) {
              backend->matrix_product(pointers(out).data(), rows, pointers(a).data(), cols,
                                      pointers(c).data(), run, n, q, accumulate);
            } else {
              Limb matrices(rows * cols * (n / run));
              for (size_t t = 0; t < n / run; ++t) {
                for (size_t r = 0; r < rows; ++r) {
                  for (size_t k = 0; k < cols; ++k)
                    matrices[t * rows * cols + matrix_constant(rows, cols, r, k)] = c[r * cols + k][t];
                }
              }
              backend->run_matrix_product(pointers(out).data(), rows, pointers(a).data(), cols,
                                          matrices.data(), run, n, q, accumulate);
            }
            bool equal = true;
            for (size_t r = 0; r < rows; ++r) {
              for (size_t i = 0; i < n; ++i) {
                uint128_t sum = accumulate ? start[r][i] : 0;
                for (size_t k = 0; k < cols; ++k) sum += uint128_t{a[k][i]} * c[r * cols + k][i / run];
                equal &= out[r][i] == static_cast<uint64_t>(sum % q.value);
              }
            }
            CAPTURE(run);
            CAPTURE(rows);
            CAPTURE(cols);
            REQUIRE(equal);
          }
        }
      }
    }
  }
}

TEST_CASE("a backend that is not there is refused by name, with the ones that are") {
  CHECK_REFUSED(select_backend("abacus"), "scalar");
  select_backend("scalar");
  CHECK(std::string(kernels().name) == "scalar");
  select_backend(available_backends().back()->name);
}

TEST_CASE("every backend of this build was among them") {
  const std::string fastest = available_backends().back()->name;
  if (fastest != "avx512ifma") say_skipped("this processor has no backend beyond " + fastest);
}

}  // namespace
}  // namespace psm::ckks
