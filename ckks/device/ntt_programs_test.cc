// Transforms and changes of basis against the scalar kernels: every ring size,
// the longest and short primes, threads in three orders.
#include <algorithm>

#include "ckks/device/testing/program_bench.h"
#include "ckks/ring/basis_conversion.h"

namespace psm::ckks {
namespace {

TEST_CASE("transforms there and back are the scalar kernel's, in place and beside") {
  TrainingRandom random(1);
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n();
    const PrimeView *views = bench.views(ring);
    for (const NttDirection direction : {NttDirection::kForward, NttDirection::kInverse}) {
      NttBatch batch{views, ring.log_n(), 0, {}};
      std::vector<Words> expected;
      for (int prime = 0; prime < ring.full_basis().limbs(); ++prime) {
        const Words in = residues(n, ring.modulus(prime), random);
        Words &out = expected.emplace_back(n);
        (direction == NttDirection::kForward ? scalar().ntt_forward : scalar().ntt_inverse)(
            out.data(), in.data(), ring.ntt(prime));
        uint64_t *const there = bench.put(in);
        batch.tasks[batch.count++] = {there, prime % 2 == 0 ? there : bench.room(n),
                                      bench.put(last_factors(ring.ntt(prime)).data(), 2), prime};
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
  const Kernels &fastest = kernels();
  select_backend("scalar");
  for_each_setting([&](const Ring &ring, ProgramBench &bench) {
    const size_t n = ring.n();
    const PrimeView *const views = bench.views(ring);
    // Primes 0, 1, 2 are q, 3 and 4 special; the last has one source, short or long, and centres.
    const BasisConverter narrow(ring, {1}, {0, 2, 3, 4}), wide(ring, {0, 1}, {2, 3, 4}),
        lift(ring, {0}, {1, 2, 3, 4});
    std::vector<Conversion> conversions;
    std::vector<Words> expected;
    NttBatch rows{views, ring.log_n(), 0, {}};
    for (const BasisConverter *converter : {&narrow, &wide, &lift}) {
      Words y, out(n * static_cast<size_t>(converter->target_count()));
      std::vector<const uint64_t *> in;
      std::vector<uint64_t *> to;
      for (int s = 0; s < converter->source_count(); ++s) {
        const Modulus &q = ring.modulus(converter->source(s));
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
      uint64_t *const there = bench.room(out.size());
      for (int t = 0; t < converter->target_count(); ++t) {
        const int prime = converter->target(t);
        scalar().ntt_forward(to[static_cast<size_t>(t)], to[static_cast<size_t>(t)], ring.ntt(prime));
        uint64_t *const limb = there + static_cast<size_t>(t) * n;
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

}  // namespace
}  // namespace psm::ckks
