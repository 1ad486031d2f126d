#include "ckks/program/planning/meter.h"

#include "ckks/program/planner/planner.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 256;

CostModel model() {
  BootstrapFigures bootstrap;
  bootstrap.keys.need_galois(5, 27);
  bootstrap.keys.need_relinearisation(23);
  bootstrap.keys.need_raised(1, 27);
  bootstrap.keys.need_raised(5, 27);
  bootstrap.effort.counts.relinearisations = 40;
  return CostModel(ckks::Context(ckks::insecure_bootstrappable(9)).chain(), {}, {bootstrap});
}

TEST_CASE("a program's vectors count once each in its file, and those of a mere shape as many as there are") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const ckks::Plain shared(std::vector<ckks::Complex>(16, 0.5));
  ckks::LinearTransform map;
  for (int baby : {0, 1, 2}) map.terms.push_back({.baby = baby, .weight = shared});
  map.terms.push_back({.baby = 3, .weight = ckks::Plain::shape_only(32, true, 20)});
  const Value y = b.linear(std::vector<Value>{b.multiply_plain(x, shared)}, map)[0];
  b.output("y", b.linear(std::vector<Value>{y}, map)[0]);
  const Plan planned = plan(std::move(b).finish(), model());
  CHECK(file_bytes(planned.program) == 4 * (16 + 20 + 20) + 3 * (7 + 6) + 8 * 6);
  const MeterReading reading = meter(planned, model());
  CHECK(reading.table_bytes == 8 * (32 + sizeof(ckks::TransformTerm)));
  CHECK(reading.peak_bytes() == reading.run_bytes() + reading.key_bytes + reading.table_bytes);
}

TEST_CASE("key-switches are counted by kind, exactly") {
  Builder b(kSlots);
  const Value x = b.input("x"), y = b.input("y");
  ckks::LinearTransform map;
  for (int giant : {0, 8, 16})
    for (int baby : {0, 1, 2, 3})
      map.terms.push_back({.giant = giant, .baby = baby, .weight = ckks::Plain::shape_only(16, true)});
  const Value z = b.linear(std::vector<Value>{x}, map)[0];
  const std::vector<Value> turned = b.rotate_all(z, std::vector<int>{4, 5, 6});
  const std::vector<std::pair<Value, Value>> pairs{
      {turned[0], y}, {turned[1], y}, {turned[2], b.rotate(y, 40)}};
  b.output("out", b.conjugate(b.sum_of_products(pairs)));
  const MeterReading reading = meter(plan(std::move(b).finish(), model()), model());
  CHECK(reading.counts == Counts{.hoisted_key_switches = 3 + 3,
                                 .full_key_switches = 2 + 1,
                                 .relinearisations = 1,
                                 .conjugations = 1,
                                 .plaintext_products = 12,
                                 .ciphertext_products = 3,
                                 .rescales = 2,
                                 .level_drops = 0});
  // Babies, giant, offsets, offset 40, conjugation.
  CHECK(reading.keys.galois_levels.size() == 3 + 1 + 3 + 1 + 1);
}

TEST_CASE("keys of program and bootstrap are merged: one for each band of levels, at its highest use") {
  Builder b(kSlots);
  Value x = b.input("x");
  for (int i = 0; i < 18; ++i) x = b.refresh(b.square(x));
  b.output("y", b.rotate(x, 1));  // element 5, which the bootstrap has as well
  const CostModel m = model();
  const MeterReading reading = meter(plan(std::move(b).finish(), m), m);
  CHECK(reading.bootstrap_counts.relinearisations == 40);
  REQUIRE(reading.keys.galois_levels.at(5).size() == 2);  // the program's rotation, and the bootstrap's
  const ckks::Level low = *reading.keys.galois_levels.at(5).begin();
  CHECK(*reading.keys.galois_levels.at(5).rbegin() == 27);
  CHECK(*reading.keys.relinearisation_levels.rbegin() == 23);
  std::map<int, ckks::Level> highest;  // of the relinearisations, by band
  for (ckks::Level level : reading.keys.relinearisation_levels) highest[m.chain().band(level)] = level;
  size_t bytes = m.chain().key_bytes(27) + m.chain().key_bytes(low) + m.chain().key_bytes(0, 1, 1) +
                 2 * m.chain().key_bytes(27, m.chain().special_primes(27), 1);
  for (const auto& [band, level] : highest) bytes += m.chain().key_bytes(level);
  CHECK(reading.key_bytes == static_cast<double>(bytes));
  CHECK(reading.seconds > m.bootstrap({}).seconds);
}

TEST_CASE("peak memory is that of the values that live together") {
  Builder b(kSlots);
  const Value x = b.input("x");
  std::vector<Value> sums;
  for (int i = 0; i < 4; ++i) sums.push_back(b.negate(x));
  Value sum = sums[0];
  for (int i = 1; i < 4; ++i) sum = b.add(sum, sums[i]);
  b.output("y", sum);
  const CostModel m = model();
  const MeterReading reading = meter(plan(std::move(b).finish(), m), m);
  CHECK(reading.peak_ciphertext_bytes == 5 * m.chain().ciphertext_bytes(0));
}

TEST_CASE("a vector shared by instructions is one plaintext, and numbers take none") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const ckks::Plain p(std::vector<ckks::Complex>(16, 2.0));
  b.output("a", b.multiply_plain(x, p));
  b.output("b", b.multiply_plain(b.negate(x), p));
  b.output("c", b.multiply_constant(x, 3));
  const MeterReading reading = meter(plan(std::move(b).finish(), model()), model());
  CHECK(reading.plaintext_bytes == 8 * 32 * 2);  // 2m residues, two limbs
}

TEST_CASE("plaintexts beyond those that are kept take memory a block at a time, not at every peak") {
  constexpr size_t kFull = size_t{1} << 15;
  constexpr double kKept = kKeptPlaintextBytes;
  const CostModel full(ckks::Context(ckks::secure_n16()).chain());
  const auto metered = [&](int terms) {
    Builder b(kFull);
    Value y = b.input("x");
    for (int map_number : {1, 2}) {
      ckks::LinearTransform map{.outputs = 1, .terms = {}};
      for (int term = 0; term < terms; ++term)
        map.terms.push_back({.baby = map_number * term, .weight = ckks::Plain::shape_only(kFull, true)});
      y = b.linear(std::vector<Value>{y}, map)[0];
    }
    // The peak of ciphertexts: hundreds of rotations that live together.
    std::vector<int> offsets;
    for (int k = 1; k < 300; ++k) offsets.push_back(k);
    b.output("z", b.add_all(b.rotate_all(y, offsets)));
    return meter(plan(std::move(b).finish(), full), full);
  };
  const MeterReading few = metered(4), many = metered(1024);
  CHECK(few.plaintext_bytes < kKept);
  CHECK(few.run_bytes() == few.peak_ciphertext_bytes + few.plaintext_bytes);
  REQUIRE(many.plaintext_bytes > kKept);
  CHECK(many.kept_plaintext_bytes() == kKept);
  CHECK(many.run_bytes() == kKept + many.peak_working_bytes);
  // 1,024 rotations of one input are taken 30 at a time.
  const double block = many.plaintext_bytes / 2 * 30 / 1024;
  CHECK(many.peak_working_bytes > block);
  CHECK(many.peak_working_bytes < many.peak_ciphertext_bytes + 1.01 * block);
}

TEST_CASE("seconds by block add up to the whole, and the whole to what the planner predicted") {
  Builder b(kSlots);
  Value x = b.input("x"), y = x;
  for (int layer = 0; layer < 4; ++layer) {
    Builder::Scope scope(b, "layer " + std::to_string(layer));
    {
      Builder::Scope inner(b, "products / deep");
      for (int i = 0; i < 6; ++i) x = b.square(x);
    }
    Builder::Scope inner(b, "rest");
    x = b.refresh(b.add(b.rotate(x, 3), y));
  }
  b.output("y", x);
  const Plan p = plan(std::move(b).finish(), model());
  const MeterReading reading = meter(p, model());
  double total = 0;
  for (const double seconds : reading.instruction_seconds) total += seconds;
  CHECK(total == doctest::Approx(reading.seconds));
  CHECK(reading.seconds == doctest::Approx(p.seconds).epsilon(0.01));
}

TEST_CASE("a block is named by the first parts of a label") {
  CHECK(block_of("a / b / c", 1) == "a");
  CHECK(block_of("a / b / c", 2) == "a / b");
  CHECK(block_of("a / b", 3) == "a / b");
  CHECK(block_of("", 2).empty());
}

}  // namespace
}  // namespace psm::program
