// Each block program with work of its own against the scalar kernels: every ring size, the longest and short
// primes, threads in three orders. (device_engine_test.cc has the rest, by what engines do with them.)
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/device/testing/test_device.h"
#include "ckks/ring/arithmetic/packing.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/basis_conversion.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/encoding/residue_maker.h"
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
  explicit Bench(ThreadOrder order)
      : owned(test_device({.order = order, .guarded = true, .arena_bytes = 1 << 30})), device(*owned) {}

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

  const std::unique_ptr<Device> owned;
  Device& device;

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

void launch_both(Device& device, NttDirection direction, const NttBatch& batch) {
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
      launch_both(bench.device, direction, batch);
      for (int i = 0; i < batch.count; ++i) {
        CAPTURE(i);
        CHECK(bench.get(batch.tasks[i].out, n) == expected[static_cast<size_t>(i)]);
      }
    }
  });
}

TEST_CASE("changes of basis and the transforms after them are the scalar kernels', several in a launch") {
  TrainingRandom random(2);
  const Kernels& fastest = kernels();
  select_backend("scalar");
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    Bench bench(order);
    const NttView* const views = bench.views(ring);
    // Primes 0, 1, 2 are q, 3 and 4 special; the last has one source, short or long, and centres.
    const BasisConverter narrow(ring, {1}, {0, 2, 3, 4}), wide(ring, {0, 1}, {2, 3, 4}),
        lift(ring, {0}, {1, 2, 3, 4});
    std::vector<Conversion> conversions;
    std::vector<Words> expected;
    NttBatch rows{views, ring.log_n(), 0, {}};
    for (const BasisConverter* converter : {&narrow, &wide, &lift}) {
      Words y, out(n * static_cast<size_t>(converter->target_count()));
      std::vector<const uint64_t*> in;
      std::vector<uint64_t*> to;
      for (int s = 0; s < converter->source_count(); ++s) {
        const Modulus& q = ring.modulus(converter->source(s));
        Words limb = residues(n, q, random);
        limb[1] = q.value / 2, limb[2] = q.value / 2 + 1;
        y.insert(y.end(), limb.begin(), limb.end());
      }
      for (int s = 0; s < converter->source_count(); ++s) in.push_back(y.data() + static_cast<size_t>(s) * n);
      for (int t = 0; t < converter->target_count(); ++t)
        to.push_back(out.data() + static_cast<size_t>(t) * n);
      converter->convert(to.data(), in.data(), 0, n);
      if (converter == &lift) {
        Words centred(n);
        scalar().reduce_centered(centred.data(), y.data(), n, ring.modulus(0), ring.modulus(1));
        CHECK(std::equal(centred.begin(), centred.end(), out.begin()));
      }
      uint64_t* const there = bench.room(out.size());
      for (int t = 0; t < converter->target_count(); ++t) {
        const int prime = converter->target(t);
        scalar().ntt_forward(to[static_cast<size_t>(t)], to[static_cast<size_t>(t)], ring.ntt(prime));
        uint64_t* const limb = there + static_cast<size_t>(t) * n;
        rows.tasks[rows.count++] = {limb, limb, nullptr, prime};
      }
      conversions.push_back({bench.put(y), there,
                             bench.put(converter->matrix().data(), converter->matrix().size()),
                             bench.put(converter->reciprocals().data(), converter->reciprocals().size()),
                             converter->source_count(), converter->target_count(), converter->source(0),
                             converter->source_count()});
      expected.push_back(std::move(out));
    }
    with_column_bits(ring.log_n(), [&](auto bits) {
      ConvertColumns<decltype(bits)::value> program{
          ring.log_n(), {views, 3, 2, ring.q_count()}, static_cast<int>(conversions.size()), 1, {}};
      std::copy(conversions.begin(), conversions.end(), program.conversions);
      bench.device.launch(program);
    });
    bench.device.launch(NttRows<NttDirection::kForward>{rows});
    for (size_t i = 0; i < conversions.size(); ++i) {
      CAPTURE(i);
      CHECK(bench.get(conversions[i].out, expected[i].size()) == expected[i]);
    }
  });
  select_backend(fastest.name);
}

// Two digits of two primes and a special one, with their keys: digit 0 has the first prime for its own, digit 1
// the second. Each source has digits and keys of its own, and a_0 that P multiplies.
class KeyedSources {
 public:
  KeyedSources(Bench& bench, const Ring& ring, size_t count, TrainingRandom& random)
      : ring_(ring), views_(bench.views(ring)), sources_(count) {
    const size_t n = ring.n();
    for (int j = 0; j < kBasis.limbs(); ++j) {
      if (j == kBasis.q) special_ = words_ / KeyLayout::kUnit;
      begin_.push_back(words_);
      words_ += packed_bytes(n, prime(j).value) / 8;
    }
    std::vector<Multiplier> factors;
    for (int j = 0; j < kBasis.q; ++j)
      factors.push_back(make_multiplier(reduce_mod(uint64_t{0x123456789abcdef}, prime(j)), prime(j)));
    factor_ = bench.put(factors.data(), factors.size());
    for (Source& s : sources_) {
      Words own, addend;
      for (int j = 0; j < kBasis.limbs(); ++j) {
        for (int i : {0, 1}) {
          s.d[i].push_back(residues(n, prime(j), random));
          for (int half : {0, 1}) s.key[i][half].push_back(residues(n, prime(j), random));
        }
        if (j >= kBasis.q) continue;
        own.insert(own.end(), s.d[j][j].begin(), s.d[j][j].end());
        s.addend.push_back(residues(n, prime(j), random));
        addend.insert(addend.end(), s.addend.back().begin(), s.addend.back().end());
      }
      s.own = bench.put(own);
      s.addend_there = bench.put(addend);
      for (int i : {0, 1}) {
        Words extension;
        for (int j = 0; j < kBasis.limbs(); ++j)
          if (j != i) extension.insert(extension.end(), s.d[i][j].begin(), s.d[i][j].end());
        const uint64_t* there[2];
        for (int half : {0, 1}) {
          Words all(words_ + 8);
          auto* bytes = reinterpret_cast<uint8_t*>(all.data());
          for (int j = 0; j < kBasis.limbs(); ++j)
            pack_residues(bytes + begin_[j] * 8, s.key[i][half][j].data(), n, prime(j).value);
          there[half] = bench.put(all);
        }
        s.digit[i] = {bench.put(extension), there[0], there[1]};
      }
    }
  }

  // Everything of a program but what is its own.
  template <class Program>
  Program program(Basis primes) const {
    Program program{};
    program.log_n = ring_.log_n();
    program.primes = {views_, primes.q, primes.p, ring_.q_count()};
    program.factor = factor_;
    for (int j = 0; j < kBasis.limbs(); ++j) {
      const size_t from = j < kBasis.q ? 0 : special_;
      program.layout.words[j] = static_cast<uint32_t>(begin_[j] / KeyLayout::kUnit - from);
    }
    for (int i : {0, 1}) {
      program.layout.own_begin[i] = static_cast<uint8_t>(i);
      program.layout.own_end[i] = static_cast<uint8_t>(i + 1);
    }
    for (size_t k = 0; k < sources_.size(); ++k)
      for (size_t i : {0, 1}) program.digit[2 * k + i] = sources_[k].digit[i];
    return program;
  }
  KeySource source(size_t k) const {
    const Source& s = sources_[k];
    return {
        s.own, {s.addend_there, nullptr}, static_cast<uint32_t>(special_), static_cast<uint16_t>(2 * k), 2};
  }
  // f a + sum_i d_i key_i on limb j.
  Words product(size_t k, int half, int j) const {
    const size_t n = ring_.n();
    const Source& s = sources_[k];
    Words sum(n);
    scalar().multiply(sum.data(), s.d[0][j].data(), s.key[0][half][j].data(), n, prime(j));
    scalar().multiply_add(sum.data(), s.d[1][j].data(), s.key[1][half][j].data(), n, prime(j));
    if (half == 0 && j < kBasis.q) {
      const uint64_t f = reduce_mod(uint64_t{0x123456789abcdef}, prime(j));
      scalar().scale_add(sum.data(), s.addend[j].data(), make_multiplier(f, prime(j)), n, prime(j));
    }
    return sum;
  }
  const Modulus& prime(int j) const { return ring_.modulus(ring_.prime_index(kBasis, j)); }
  const NttView* views() const { return views_; }

  static constexpr Basis kBasis{2, 1};

 private:
  struct Source {
    std::vector<Words> d[2], key[2][2], addend;
    const uint64_t *own, *addend_there;
    KeyDigit digit[2];
  };
  const Ring& ring_;
  const NttView* views_;
  const Multiplier* factor_;
  std::vector<size_t> begin_;
  size_t words_ = 0, special_ = 0;
  std::vector<Source> sources_;
};

Permutation permutation_of(Bench& bench, GaloisElement g, int log_n) {
  const auto table = automorphism_table(g, log_n);
  return {bench.put(table->view().blocks, size_t{1} << (log_n - 3)),
          bench.put(table->view().permutations[0], 64)};
}

TEST_CASE("inner products with packed keys, and automorphisms after them, apart and summed") {
  TrainingRandom random(3);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n(), limbs = static_cast<size_t>(KeyedSources::kBasis.limbs());
    Bench bench(order);
    const KeyedSources sources(bench, ring, 2, random);
    auto program = sources.program<KeyProduct>(KeyedSources::kBasis);
    program.limbs = static_cast<int>(limbs);
    program.count = 2;
    std::vector<Words> expected[2];  // of a source, both polynomials of each limb
    for (size_t k : {0, 1}) {
      const GaloisElement g = rotation_element(static_cast<int>(3 + k), ring.log_n());
      static_cast<KeySource&>(program.source[k]) = sources.source(k);
      program.source[k].permutation = permutation_of(bench, g, ring.log_n());
      for (int half : {0, 1}) {
        program.source[k].out[half] = bench.room(n * limbs);
        for (int j = 0; j < KeyedSources::kBasis.limbs(); ++j) {
          Words turned(n);
          scalar().automorphism(turned.data(), sources.product(k, half, j).data(),
                                *automorphism_table(g, ring.log_n()));
          expected[k].push_back(std::move(turned));
        }
      }
    }
    const auto limb_of = [&](size_t k, size_t half, size_t j) {
      return bench.get(program.source[k].out[half] + j * n, n);
    };
    bench.device.launch(program);
    for (size_t k : {0, 1})
      for (size_t i = 0; i < 2 * limbs; ++i) CHECK(limb_of(k, i / limbs, i % limbs) == expected[k][i]);
    program.summed = program.accumulate = true;
    bench.device.launch(program);
    for (size_t i = 0; i < 2 * limbs; ++i) {
      const Modulus& q = sources.prime(static_cast<int>(i % limbs));
      Words sum = expected[0][i];
      for (size_t k : {0, 1}) scalar().add(sum.data(), sum.data(), expected[k][i].data(), n, q);
      CHECK(limb_of(0, i / limbs, i % limbs) == sum);
    }
  });
}

TEST_CASE("products with keys before an inverse transform are stored nowhere") {
  TrainingRandom random(5);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    Bench bench(order);
    const KeyedSources sources(bench, ring, 1, random);
    auto program = sources.program<KeyRows>(KeyedSources::kBasis);
    program.source = sources.source(0);
    program.count = 2;
    program.limb[0] = 2;  // the special one, and one that P a_0 is added to
    program.limb[1] = 1;
    program.out = bench.room(4 * n);
    NttBatch batch{sources.views(), ring.log_n(), 0, {}};
    for (int i = 0; i < 4; ++i) {
      const int prime = ring.prime_index(KeyedSources::kBasis, program.limb[i % 2]);
      const Multiplier last[2] = {ring.ntt(prime).view().inverse_n, ring.ntt(prime).view().inverse_n_root};
      uint64_t* const limb = program.out + static_cast<size_t>(i) * n;
      batch.tasks[batch.count++] = {limb, limb, bench.put(last, 2), prime};
    }
    bench.device.launch(program);
    with_column_bits(ring.log_n(), [&](auto bits) {
      bench.device.launch(NttColumns<decltype(bits)::value, NttDirection::kInverse>{batch});
    });
    for (int i = 0; i < 4; ++i) {
      Words x = sources.product(0, i / 2, program.limb[i % 2]);
      scalar().ntt_inverse(x.data(), x.data(), ring.ntt(batch.tasks[i].prime));
      CHECK(bench.get(batch.tasks[i].out, n) == x);
    }
  });
}

TEST_CASE("divisions end with a transform, a difference, a product and an automorphism") {
  TrainingRandom random(6);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    const size_t n = ring.n();
    constexpr int kLimbs = 2;
    Bench bench(order);
    const KeyedSources sources(bench, ring, 1, random);
    const GaloisElement g = rotation_element(5, ring.log_n());
    const auto table = automorphism_table(g, ring.log_n());
    std::vector<Multiplier> inverses;
    for (int j = 0; j < kLimbs; ++j)
      inverses.push_back(make_multiplier(ring.q(j).value - 7, ring.q(j)));  // any
    std::vector<Words> r, x, a;  // both polynomials, limb after limb
    for (int i = 0; i < 2 * kLimbs; ++i)
      for (std::vector<Words>* limbs : {&r, &x, &a})
        limbs->push_back(residues(n, ring.q(i % kLimbs), random));
    const auto joined = [&](const std::vector<Words>& limbs, size_t half) {
      Words all = limbs[half * kLimbs];
      all.insert(all.end(), limbs[half * kLimbs + 1].begin(), limbs[half * kLimbs + 1].end());
      return all;
    };
    // x in memory, of one polynomial and of two, and x from a key.
    for (const int polys : {1, 2, 0}) {
      const bool is_keyed = polys == 0;
      CAPTURE(polys);
      auto program = sources.program<DivideRows>({kLimbs, 0});
      program.polys = is_keyed ? 2 : polys;
      program.limbs = kLimbs;
      program.source = sources.source(0);
      program.inverse = bench.put(inverses.data(), inverses.size());
      program.destination = permutation_of(bench, inverse_element(g, ring.log_n()), ring.log_n());
      Words both = joined(r, 0), second = joined(r, 1);
      both.insert(both.end(), second.begin(), second.end());
      uint64_t* const remainders = bench.put(both);
      program.r = remainders;
      NttBatch batch{sources.views(), ring.log_n(), 0, {}};
      for (int i = 0; i < program.polys * kLimbs; ++i) {
        uint64_t* const limb = remainders + static_cast<size_t>(i) * n;
        batch.tasks[batch.count++] = {limb, limb, nullptr, i % kLimbs};
      }
      for (int i = 0; i < program.polys; ++i) {
        program.x[i] = is_keyed ? nullptr : bench.put(joined(x, static_cast<size_t>(i)));
        program.a[i] = i == 0 ? nullptr : bench.put(joined(a, static_cast<size_t>(i)));
        program.out[i] = bench.room(kLimbs * n);
      }
      with_column_bits(ring.log_n(), [&](auto bits) {
        bench.device.launch(NttColumns<decltype(bits)::value, NttDirection::kForward>{batch});
      });
      bench.device.launch(program);
      for (int i = 0; i < program.polys * kLimbs; ++i) {
        const int half = i / kLimbs, j = i % kLimbs;
        const Modulus& q = ring.q(j);
        Words remainder(n), value = is_keyed ? sources.product(0, half, j) : x[static_cast<size_t>(i)];
        scalar().ntt_forward(remainder.data(), r[static_cast<size_t>(i)].data(), ring.ntt(j));
        scalar().subtract_scale(value.data(), value.data(), remainder.data(),
                                inverses[static_cast<size_t>(j)], n, q);
        if (half == 1) scalar().add(value.data(), value.data(), a[static_cast<size_t>(i)].data(), n, q);
        Words turned(n);
        scalar().automorphism(turned.data(), value.data(), *table);
        CHECK(bench.get(program.out[half] + static_cast<size_t>(j) * n, n) == turned);
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

TEST_CASE("plaintexts of few values and of many, side by side and as matrices") {
  TrainingRandom random(7);
  for_each_setting([&](const Ring& ring, ThreadOrder order) {
    Bench bench(order);
    const Basis basis{2, 1};
    const NttView* const views = bench.views(ring);
    for (const size_t values : {size_t{2}, size_t{16}, std::min(ring.n(), size_t{4096}), ring.n()}) {
      for (const bool by_runs : {false, true}) {
        const double size = by_runs ? 0x1p70 : 0x1p61;
        CAPTURE(values);
        CAPTURE(by_runs);
        std::vector<double> coefficients(6 * values);
        for (double& c : coefficients) c = std::round(random.uniform(-size, size));
        coefficients[0] = size;
        coefficients[1] = -0.0;
        const CoefficientTile tile{coefficients, values, size, 6, 1, by_runs};
        const Buffer expected = HostResidueMaker(ring).residues(tile, basis);
        const EncodeTile there{{views, basis.q, basis.p, ring.q_count()},
                               std::countr_zero(values),
                               6,
                               1,
                               by_runs ? static_cast<int>(kMatrixRows) : 0,
                               by_runs,
                               bench.put(coefficients.data(), coefficients.size()),
                               bench.room(expected.size())};
        const auto matches = [&] {
          return bench.get(there.out, expected.size()) == Words(expected.begin(), expected.end());
        };
        if (values <= 4096) {
          bench.device.launch(EncodeBlock{there});
          CHECK(matches());
        }
        if (values < 1024) continue;
        ReduceCoefficients reduce{there};
        reduce.out = bench.room(expected.size());
        bench.device.launch(reduce);
        NttBatch batch{views, there.log_values, 0, {}};
        for (int i = 0; i < 6 * basis.limbs(); ++i) {
          uint64_t* const limb = reduce.out + static_cast<size_t>(i) * values;
          batch.tasks[batch.count++] = {limb, limb, nullptr, ring.prime_index(basis, i % basis.limbs())};
        }
        launch_both(bench.device, NttDirection::kForward, batch);
        bench.device.launch(SpreadValues{there, reduce.out});
        CHECK(matches());
      }
    }
  });
}

}  // namespace
}  // namespace psm::ckks
