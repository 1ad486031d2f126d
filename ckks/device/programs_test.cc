// Each block program with work of its own against the scalar kernels: every ring size, the longest and short
// primes, threads in three orders. (device_engine_test.cc has the rest, by what engines do with them.)
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/device/emulated_device.h"
#include "ckks/ring/arithmetic/packing.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/basis_conversion.h"
#include "ckks/ring/kernels/backend.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

using Words = std::vector<uint64_t>;

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kReversed, ThreadOrder::kShuffled};

const Kernels& scalar() { return *available_backends().front(); }

// Random residues, with 0 and q - 1 sprinkled between.
Words residues(size_t n, const Modulus& q, TrainingRandom& random) {
  Words limb(n);
  for (uint64_t& x : limb) {
    const uint64_t kind = random.integer(8);
    x = kind == 0 ? 0 : kind == 1 ? q.value - 1 : random.integer(q.value);
  }
  limb.front() = limb.back() = q.value - 1;
  return limb;
}

// A device, what was put there, and what comes back.
class Bench {
 public:
  explicit Bench(ThreadOrder order) : device({.order = order, .guarded = true, .arena_bytes = 1 << 30}) {}

  uint64_t* room(size_t words) { return buffers_.emplace_back(words, &device).data(); }
  template <class T>
  const T* put(const T* values, size_t count) {
    const size_t words = (count * sizeof(T) + 7) / 8;
    Words host(words);
    std::copy_n(values, count, reinterpret_cast<T*>(host.data()));
    uint64_t* to = room(words);
    device.upload(to, host.data(), words);
    return reinterpret_cast<const T*>(to);
  }
  uint64_t* put(const Words& words) { return const_cast<uint64_t*>(put(words.data(), words.size())); }
  Words get(const uint64_t* from, size_t words) {
    Words out(words);
    device.download(out.data(), from, words);
    return out;
  }
  // The tables of all primes of a ring.
  const NttView* views(const Ring& ring) {
    std::vector<NttView> views;
    for (int i = 0; i < ring.full_basis().limbs(); ++i) {
      NttView& view = views.emplace_back(ring.ntt(i).view());
      for (const uint64_t** table :
           {&view.roots, &view.root_quotients, &view.inverse_roots, &view.inverse_root_quotients})
        *table = put(*table, ring.n());
    }
    return put(views.data(), views.size());
  }

  EmulatedDevice device;

 private:
  std::vector<Buffer> buffers_;
};

void for_each_setting(const std::function<void(const Ring&, ThreadOrder)>& body) {
  for (int log_n = kMinDeviceLogN; log_n <= kMaxDeviceLogN; ++log_n) {
    std::vector<uint64_t> q = ntt_primes(50, log_n, 2), p = ntt_primes(32, log_n, 2);
    q.push_back(ntt_primes(log_n + 4, log_n, 1)[0]);
    const Ring ring(log_n, q, p);
    for (const ThreadOrder order : kOrders) {
      CAPTURE(log_n);
      CAPTURE(static_cast<int>(order));
      body(ring, order);
    }
  }
}

template <int kColumnBits>
void launch_both(Device& device, NttDirection direction, const NttBatch& batch) {
  if (batch.log_n - kLogRow != kColumnBits) {
    if constexpr (kColumnBits < 8) launch_both<kColumnBits + 1>(device, direction, batch);
  } else if (direction == NttDirection::kForward) {
    device.launch(NttColumns<kColumnBits, NttDirection::kForward>{batch});
    device.launch(NttRows<NttDirection::kForward>{batch});
  } else {
    device.launch(NttRows<NttDirection::kInverse>{batch});
    device.launch(NttColumns<kColumnBits, NttDirection::kInverse>{batch});
  }
}

TEST_CASE("transforms there and back are the scalar kernel's, in place and beside") {
  TrainingRandom random(1);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    Bench bench(order);
    const NttView* views = bench.views(ring);
    for (const NttDirection direction : {NttDirection::kForward, NttDirection::kInverse}) {
      NttBatch batch{views, ring.log_n(), 0, {}};
      std::vector<Words> expected;
      for (int prime = 0; prime < ring.full_basis().limbs(); ++prime) {
        const Words in = residues(n, ring.modulus(prime), random);
        Words& out = expected.emplace_back(n);
        (direction == NttDirection::kForward ? scalar().ntt_forward : scalar().ntt_inverse)(
            out.data(), in.data(), ring.ntt(prime));
        uint64_t* const there = bench.put(in);
        const Multiplier last[2] = {ring.ntt(prime).view().inverse_n, ring.ntt(prime).view().inverse_n_root};
        batch.tasks[batch.count++] = {there, prime % 2 == 0 ? there : bench.room(n), bench.put(last, 2),
                                      prime};
      }
      launch_both<2>(bench.device, direction, batch);
      for (int i = 0; i < batch.count; ++i) {
        CAPTURE(i);
        CHECK(bench.get(batch.tasks[i].out, n) == expected[static_cast<size_t>(i)]);
      }
    }
  });
}

TEST_CASE("changes of basis are the scalar kernels', several in a launch") {
  TrainingRandom random(2);
  const Kernels& fastest = kernels();
  select_backend("scalar");
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    Bench bench(order);
    const BasisConverter narrow(ring, {1}, {0, 2, 3, 4}), wide(ring, {0, 3, 4}, {1, 2});
    ConvertBasis program{ring.log_n(), 0, 1, {}};
    std::vector<Words> expected;
    for (const BasisConverter* converter : {&narrow, &wide}) {
      Words y, out(n * static_cast<size_t>(converter->target_count()));
      std::vector<const uint64_t*> in;
      std::vector<uint64_t*> to;
      for (int s = 0; s < converter->source_count(); ++s) {
        const Words limb = residues(n, ring.modulus(converter->source(s)), random);
        y.insert(y.end(), limb.begin(), limb.end());
      }
      for (int s = 0; s < converter->source_count(); ++s) in.push_back(y.data() + static_cast<size_t>(s) * n);
      for (int t = 0; t < converter->target_count(); ++t)
        to.push_back(out.data() + static_cast<size_t>(t) * n);
      converter->convert(to.data(), in.data(), 0, n);
      program.conversions[program.count++] = {
          bench.put(y),
          bench.room(out.size()),
          bench.put(converter->matrix().data(), converter->matrix().size()),
          bench.put(converter->target_moduli().data(), converter->target_moduli().size()),
          bench.put(converter->reciprocals().data(), converter->reciprocals().size()),
          converter->source_count(),
          converter->target_count()};
      expected.push_back(std::move(out));
    }
    bench.device.launch(program);
    for (int i = 0; i < program.count; ++i) {
      const Words& out = expected[static_cast<size_t>(i)];
      CHECK(bench.get(program.conversions[i].out, out.size()) == out);
    }
  });
  select_backend(fastest.name);
}

TEST_CASE("inner products with packed keys, and automorphisms after them") {
  TrainingRandom random(3);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    const Basis basis{2, 1};
    Bench bench(order);
    KeyProduct program{};
    program.log_n = ring.log_n();
    program.primes = {bench.views(ring), basis.q, basis.p, ring.q_count()};
    program.limbs = basis.limbs();
    program.digits = 2;
    // Digit 0 has the first prime for its own, digit 1 the second.
    std::vector<Words> d[2], key[2][2];
    size_t words = 0;
    for (int j = 0; j < basis.limbs(); ++j) {
      const Modulus& q = ring.modulus(ring.prime_index(basis, j));
      program.key_words[j] = static_cast<uint32_t>(words / KeyProduct::kKeyUnit);
      words += packed_bytes(n, q.value) / 8;
      for (int i : {0, 1}) {
        d[i].push_back(residues(n, q, random));
        for (int half : {0, 1}) key[i][half].push_back(residues(n, q, random));
      }
    }
    Words own(d[0][0]);
    own.insert(own.end(), d[1][1].begin(), d[1][1].end());
    program.own = bench.put(own);
    std::vector<Words> packed[2][2];
    for (int i : {0, 1}) {
      Words extension;
      for (int j = 0; j < basis.limbs(); ++j) {
        if (j != i) extension.insert(extension.end(), d[i][j].begin(), d[i][j].end());
      }
      const uint64_t* there[2];
      for (int half : {0, 1}) {
        Words all(words + 8);
        auto* bytes = reinterpret_cast<uint8_t*>(all.data());
        for (int j = 0; j < basis.limbs(); ++j) {
          const uint64_t q = ring.modulus(ring.prime_index(basis, j)).value;
          pack_residues(bytes + program.key_words[j] * KeyProduct::kKeyUnit * 8, key[i][half][j].data(), n,
                        q);
        }
        there[half] = bench.put(all);
      }
      program.digit[i] = {bench.put(extension), there[0], there[1], i, i + 1};
    }
    const GaloisElement g = rotation_element(3, ring.log_n());
    const auto table = automorphism_table(g, ring.log_n());
    program.permutation = {bench.put(table->view().blocks, n / 8),
                           bench.put(table->view().permutations[0], 64)};
    for (uint64_t*& out : program.out) out = bench.room(n * static_cast<size_t>(basis.limbs()));
    bench.device.launch(program);
    for (int half : {0, 1}) {
      const Words out = bench.get(program.out[half], n * static_cast<size_t>(basis.limbs()));
      for (int j = 0; j < basis.limbs(); ++j) {
        const Modulus& q = ring.modulus(ring.prime_index(basis, j));
        Words sum(n), turned(n);
        scalar().multiply(sum.data(), d[0][j].data(), key[0][half][j].data(), n, q);
        scalar().multiply_add(sum.data(), d[1][j].data(), key[1][half][j].data(), n, q);
        scalar().automorphism(turned.data(), sum.data(), *table);
        CHECK(std::equal(turned.begin(), turned.end(), out.begin() + static_cast<std::ptrdiff_t>(n) * j));
      }
    }
  });
}

TEST_CASE("matrix products by short and by long runs, more rows than a thread makes") {
  TrainingRandom random(4);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    const Modulus& q = ring.q(0);
    Bench bench(order);
    for (const size_t run : {size_t{1}, size_t{4}, size_t{64}}) {
      CAPTURE(run);
      const size_t rows = 6, cols = 3, values = n / run;
      std::vector<Words> a[2];  // by polynomial
      Words sources;
      for (size_t k = 0; k < cols; ++k) {
        for (auto& half : a) {
          half.push_back(residues(n, q, random));
          sources.insert(sources.end(), half.back().begin(), half.back().end());
        }
      }
      const Words weights = residues(rows * cols * values, q, random);
      MatrixProduct program{};
      program.log_n = ring.log_n();
      program.log_run = std::countr_zero(run);
      program.primes = {bench.views(ring), 1, 0, ring.q_count()};
      program.limbs = 1;
      program.rows = program.weight_rows = static_cast<int>(rows);
      program.cols = static_cast<int>(cols);
      program.by_runs = run > 4;
      program.weights = bench.put(weights);
      program.sources = bench.put(sources);
      for (size_t k = 0; k < cols; ++k) program.source[k] = static_cast<uint8_t>(k);
      for (size_t r = 0; r < rows; ++r)
        for (size_t half : {0, 1}) program.out[r][half] = bench.room(n);
      bench.device.launch(program);
      program.accumulate = true;
      bench.device.launch(program);
      for (size_t half : {0, 1}) {
        std::vector<Words> expected(rows, Words(n));
        std::vector<uint64_t*> out;
        std::vector<const uint64_t*> in, plain;
        for (Words& row : expected) out.push_back(row.data());
        for (const Words& limb : a[half]) in.push_back(limb.data());
        for (size_t p = 0; p < rows * cols; ++p) plain.push_back(weights.data() + p * values);
        for (const bool accumulate : {false, true}) {
          if (run > 4)
            scalar().run_matrix_product(out.data(), rows, in.data(), cols, weights.data(), run, n, q,
                                        accumulate);
          else
            scalar().matrix_product(out.data(), rows, in.data(), cols, plain.data(), run, n, q, accumulate);
        }
        for (size_t r = 0; r < rows; ++r) CHECK(bench.get(program.out[r][half], n) == expected[r]);
      }
    }
  });
}

}  // namespace
}  // namespace psm::ckks
