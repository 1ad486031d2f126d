// The meter's memory against what the encrypted machine takes, in buffers, at a ring where these outweigh all else.
#include "ckks/base/buffer.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/testing/test_machine.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr int kLogN = 13;
constexpr size_t kSlots = size_t{1} << (kLogN - 1);

// A second run takes at its peak, plaintexts and the bootstrap's transforms included, nearly what the meter says.
void check_memory(const ckks::ParameterSpec& spec, Program source) {
  TestMachine test(spec, std::move(source));
  const MeterReading reading = meter(test.plan_, test.model);
  const std::map<std::string, ckks::Ciphertext> inputs = test.encrypt({{"x", wave(kSlots, 0.1, true)}});
  test.machine->run(inputs);
  size_t kept = test.machine->encoded_bytes();
  for (const auto& [kind, bootstrapper] : test.bootstrappers) kept += bootstrapper.bytes();
  buffer_pool::reset_peak();
  const size_t before = buffer_pool::statistics().bytes_in_use;
  test.machine->run(inputs);
  const size_t run = buffer_pool::statistics().peak_in_use - before;
  MESSAGE(reading.peak_operation << ": " << run << " and " << kept << " of " << reading.run_bytes());
  const double ratio = static_cast<double>(run + kept) / reading.run_bytes();
  CHECK(ratio > 0.9);
  CHECK(ratio < 1.1);
}

TEST_CASE("memory is predicted within a tenth: a bootstrap") {
  Builder b(kSlots);
  Value x = b.input("x", true);
  for (int i = 0; i < 17; ++i) x = b.refresh(b.multiply_constant(x, -1));
  b.output("y", x);
  check_memory(ckks::insecure_bootstrappable(kLogN), std::move(b).finish());
}

TEST_CASE("memory is predicted within a tenth: a linear map of several inputs and outputs") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const std::vector<Value> inputs{x, b.rotate(x, 1), b.negate(x)};
  ckks::LinearTransform map{.outputs = 6, .terms = {}};
  for (int output = 0; output < map.outputs; ++output)
    for (int input = 0; input < 3; ++input)
      for (int giant : {0, 4, 8})
        for (int baby : {0, 1, 2, 3}) {
          map.terms.push_back(
              {.output = output,
               .giant = giant,
               .input = input,
               .baby = baby,
               .weight = ckks::Plain(SlotVector(64, ckks::Complex(0.01 * (output + baby), 0.01)))});
        }
  Value sum = x;
  for (const Value y : b.linear(inputs, map)) sum = b.add(sum, y);
  b.output("y", sum);
  check_memory(ckks::insecure_leveled(kLogN, 4), std::move(b).finish());
}

TEST_CASE("memory is predicted within a tenth: a series of degree 31 and products") {
  Builder b(kSlots);
  const Value x = b.input("x", true);
  const Value y = b.series(x, {.coefficients = std::vector<double>(32, 0.03)});
  b.output("y", b.multiply(b.square(y), y));
  check_memory(ckks::insecure_leveled(kLogN, 8), std::move(b).finish());
}

TEST_CASE("memory is predicted within a tenth: many rotations that live together") {
  Builder b(kSlots);
  const Value x = b.input("x");
  std::vector<int> offsets;
  for (int i = 1; i <= 12; ++i) offsets.push_back(i);
  std::vector<std::pair<Value, Value>> pairs;
  for (const Value turned : b.rotate_all(x, offsets)) pairs.emplace_back(turned, x);
  b.output("y", b.sum_of_products(pairs));
  check_memory(ckks::insecure_leveled(kLogN, 5), std::move(b).finish());
}

TEST_CASE("memory is predicted within a tenth: sums of products that are made together") {
  Builder b(kSlots);
  const Value x = b.input("x");
  const std::vector<Value> turned = b.rotate_all(x, std::vector<int>{1, 2, 3, 4});
  std::vector<Value> sums;
  for (size_t i = 0; i < 16; ++i) {
    const std::pair<Value, Value> pairs[] = {{x, turned[i % 4]}, {turned[i % 4], turned[i / 4]}};
    sums.push_back(b.sum_of_products(pairs));
  }
  Value all = sums[0];
  for (size_t i = 1; i < sums.size(); ++i) all = b.add(all, sums[i]);
  b.output("y", all);
  check_memory(ckks::insecure_leveled(kLogN, 5), std::move(b).finish());
}

}  // namespace
}  // namespace psm::program
