// Plaintexts, and matrix products with them, against the scalar kernels: every ring size, the longest and short primes,
// threads in three orders. (device_engine_test.cc has the rest, by what engines do with them.)
#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/device/testing/program_bench.h"
#include "ckks/scheme/encoding/residue_maker.h"

namespace psm::ckks {
namespace {

TEST_CASE("matrix products by short and by long runs, more rows than a thread makes") {
  TrainingRandom random(4);
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n();
    const Modulus &q = ring.q(0);
    for (const size_t run : {size_t{1}, size_t{4}, size_t{64}}) {
      CAPTURE(run);
      const size_t rows = 6, cols = 3, values = n / run;
      std::vector<Words> a[2];  // by polynomial
      Words sources;
      for (size_t k = 0; k < cols; ++k) {
        for (auto &half : a) {
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
        std::vector<uint64_t *> out;
        std::vector<const uint64_t *> in, plain;
        for (Words &row : expected) out.push_back(row.data());
        for (const Words &limb : a[half]) in.push_back(limb.data());
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
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const Basis basis{2, 1};
    const PrimeView *const views = bench.views(ring);
    for (const size_t values : {size_t{2}, size_t{16}, std::min(ring.n(), size_t{4096}), ring.n()}) {
      for (const bool by_runs : {false, true}) {
        const double size = by_runs ? 0x1p70 : 0x1p61;
        CAPTURE(values);
        CAPTURE(by_runs);
        std::vector<double> coefficients(6 * values);
        for (double &c : coefficients) c = std::round(random.uniform(-size, size));
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
          uint64_t *const limb = reduce.out + static_cast<size_t>(i) * values;
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
