// Programs with key-switching keys against the scalar kernels: every ring size,
// the longest and short primes, threads in three orders.

#include "ckks/device/testing/program_bench.h"
#include "ckks/ring/arithmetic/packing.h"

namespace psm::ckks {
namespace {

// Two digits of two primes and a special one, with their keys: digit 0 has the first prime for its own, digit 1 the
// second. Each source has digits and keys of its own, and a_0 that P multiplies.
class KeyedSources {
 public:
  KeyedSources(ProgramBench &bench, const Ring &ring, size_t count, TrainingRandom &random)
      : ring_(ring), views_(bench.views(ring)), sources_(count) {
    const size_t n = ring.n();
    for (int j = 0; j < kBasis.limbs(); ++j) {
      if (j == kBasis.q) special_ = words_ / KeyLayout::kUnit;
      begin_.push_back(words_);
      words_ += packed_bytes(n, prime(j).value) / 8;
    }
    std::vector<double> factors;
    for (int j = 0; j < kBasis.q; ++j)
      factors.push_back(centred(reduce_mod(uint64_t{0x123456789abcdef}, prime(j)), prime(j)));
    factor_ = bench.put(factors.data(), factors.size());
    for (Source &s : sources_) {
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
        const uint64_t *there[2];
        for (int half : {0, 1}) {
          Words all(words_ + 8);
          auto *bytes = reinterpret_cast<uint8_t *>(all.data());
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
    const Source &s = sources_[k];
    return {
        s.own, {s.addend_there, nullptr}, static_cast<uint32_t>(special_), static_cast<uint16_t>(2 * k), 2};
  }
  // f a + sum_i d_i key_i on limb j.
  Words product(size_t k, int half, int j) const {
    const size_t n = ring_.n();
    const Source &s = sources_[k];
    Words sum(n);
    scalar().multiply(sum.data(), s.d[0][j].data(), s.key[0][half][j].data(), n, prime(j));
    scalar().multiply_add(sum.data(), s.d[1][j].data(), s.key[1][half][j].data(), n, prime(j));
    if (half == 0 && j < kBasis.q) {
      const uint64_t f = reduce_mod(uint64_t{0x123456789abcdef}, prime(j));
      scalar().scale_add(sum.data(), s.addend[j].data(), make_multiplier(f, prime(j)), n, prime(j));
    }
    return sum;
  }
  const Modulus &prime(int j) const { return ring_.modulus(ring_.prime_index(kBasis, j)); }
  const PrimeView *views() const { return views_; }

  static constexpr Basis kBasis{2, 1};

 private:
  struct Source {
    std::vector<Words> d[2], key[2][2], addend;
    const uint64_t *own, *addend_there;
    KeyDigit digit[2];
  };
  const Ring &ring_;
  const PrimeView *views_;
  const double *factor_;
  std::vector<size_t> begin_;
  size_t words_ = 0, special_ = 0;
  std::vector<Source> sources_;
};

Permutation permutation_of(ProgramBench &bench, GaloisElement g, int log_n) {
  const auto table = automorphism_table(g, log_n);
  return {bench.put(table->view().blocks, size_t{1} << (log_n - 3)),
          bench.put(table->view().permutations[0], 64)};
}

TEST_CASE("inner products with packed keys, and automorphisms after them, apart and summed") {
  TrainingRandom random(3);
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n(), limbs = static_cast<size_t>(KeyedSources::kBasis.limbs());
    const KeyedSources sources(bench, ring, 2, random);
    auto program = sources.program<KeyProduct>(KeyedSources::kBasis);
    program.limbs = static_cast<int>(limbs);
    program.count = 2;
    std::vector<Words> expected[2];  // of a source, both polynomials of each limb
    for (size_t k : {0, 1}) {
      const GaloisElement g = rotation_element(static_cast<int>(3 + k), ring.log_n());
      static_cast<KeySource &>(program.source[k]) = sources.source(k);
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
      const Modulus &q = sources.prime(static_cast<int>(i % limbs));
      Words sum = expected[0][i];
      for (size_t k : {0, 1}) scalar().add(sum.data(), sum.data(), expected[k][i].data(), n, q);
      CHECK(limb_of(0, i / limbs, i % limbs) == sum);
    }
  });
}

TEST_CASE("products with keys before an inverse transform are stored nowhere") {
  TrainingRandom random(5);
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n();
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
      uint64_t *const limb = program.out + static_cast<size_t>(i) * n;
      batch.tasks[batch.count++] = {limb, limb, bench.put(last_factors(ring.ntt(prime)).data(), 2), prime};
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
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n();
    constexpr int kLimbs = 2;
    const KeyedSources sources(bench, ring, 1, random);
    const GaloisElement g = rotation_element(5, ring.log_n());
    const auto table = automorphism_table(g, ring.log_n());
    std::vector<Multiplier> inverses;
    for (int j = 0; j < kLimbs; ++j)
      inverses.push_back(make_multiplier(ring.q(j).value - 7, ring.q(j)));  // any
    std::vector<Words> r, x, a;  // both polynomials, limb after limb
    for (int i = 0; i < 2 * kLimbs; ++i)
      for (std::vector<Words> *limbs : {&r, &x, &a})
        limbs->push_back(residues(n, ring.q(i % kLimbs), random));
    const auto joined = [&](const std::vector<Words> &limbs, size_t half) {
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
      std::vector<double> factors;
      for (int j = 0; j < kLimbs; ++j)
        factors.push_back(centred(inverses[static_cast<size_t>(j)].value, ring.q(j)));
      program.inverse = bench.put(factors.data(), factors.size());
      program.destination = permutation_of(bench, inverse_element(g, ring.log_n()), ring.log_n());
      Words both = joined(r, 0), second = joined(r, 1);
      both.insert(both.end(), second.begin(), second.end());
      uint64_t *const remainders = bench.put(both);
      program.r = remainders;
      NttBatch batch{sources.views(), ring.log_n(), 0, {}};
      for (int i = 0; i < program.polys * kLimbs; ++i) {
        uint64_t *const limb = remainders + static_cast<size_t>(i) * n;
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
        const Modulus &q = ring.q(j);
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

}  // namespace
}  // namespace psm::ckks
