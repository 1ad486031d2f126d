#include "ckks/program/program.h"

#include "ckks/base/testing/check.h"

namespace psm::program {
namespace {

TEST_CASE("realness is inferred through sums, products, rotations, maps and series") {
  Builder b(8);
  const Value x = b.input("x", true), z = b.input("z");
  CHECK(b.is_real(b.add(x, x)));
  CHECK_FALSE(b.is_real(b.add(x, z)));
  CHECK_FALSE(b.is_real(b.times_i(x)));
  CHECK_FALSE(b.is_real(b.multiply_constant(x, {0, 1})));
  CHECK(b.is_real(b.multiply_constant(x, 2)));
  CHECK(b.is_real(b.rotate(x, 3)));
  CHECK(b.is_real(b.twice_real_part(z)));
  CHECK_FALSE(b.is_real(b.square(z)));
  CHECK(b.is_real(b.series(x, {{0, 0, 1}})));
  CHECK(b.is_real(b.refresh(x)));
  CHECK(b.conjugate(x) == x);
  const std::vector<Value> outputs =
      b.linear(std::vector<Value>{x, z}, {2,
                                          {{.output = 0, .input = 0, .weight = ckks::Plain::constant(1)},
                                           {.output = 1, .input = 1, .weight = ckks::Plain::constant(1)}}});
  CHECK(b.is_real(outputs[0]));
  CHECK_FALSE(b.is_real(outputs[1]));
  CHECK(b.is_real(b.mark_real(outputs[1])));
}

TEST_CASE("rotations are taken modulo the slots, shared, and free where they are zero") {
  Builder b(8);
  const Value x = b.input("x");
  CHECK(b.rotate(x, 8) == x);
  const std::vector<Value> r = b.rotate_all(x, std::vector<int>{0, -1, 7, 2});
  CHECK(r[0] == x);
  CHECK(r[1] == r[2]);
  CHECK_FALSE(r[1] == r[3]);
  const Program program = std::move(b).finish();
  REQUIRE(program.instructions.size() == 2);
  CHECK(program.instructions[1].offsets == std::vector<int>{7, 2});
}

TEST_CASE("labels nest and end with their scope") {
  Builder b(8);
  const Value x = b.input("x");
  {
    Builder::Scope layer(b, "layer 0");
    Builder::Scope part(b, "norm");
    b.negate(x);
  }
  b.negate(x);
  const Program program = std::move(b).finish();
  CHECK(describe(program.instructions[1]) == "negate [layer 0 / norm]");
  CHECK(program.instructions[2].label.empty());
}

TEST_CASE("what cannot be built is refused with the name of the operation") {
  Builder b(8);
  const Value x = b.input("x");
  Builder::Scope scope(b, "layer 3");
  CHECK_REFUSED(b.add_plain(x, ckks::Plain(std::vector<ckks::Complex>(16))), "layer 3");
  CHECK_THROWS_AS(b.add(x, Value{7}), Error);
  CHECK_THROWS_AS(b.add(x, Value{}), Error);
  CHECK_THROWS_AS(b.series(x, {{1.0}}), Error);
  CHECK_THROWS_AS(b.sum_of_products({}), Error);
  CHECK_THROWS_AS(b.linear(std::vector<Value>{x}, {2, {{.weight = ckks::Plain::constant(1)}}}), Error);
  CHECK_THROWS_AS(b.linear(std::vector<Value>{x}, {1, {{.input = 1, .weight = ckks::Plain::constant(1)}}}),
                  Error);
  CHECK_THROWS_AS(Builder(12), Error);
}

TEST_CASE(
    "periods are inferred: the longest of values and plaintexts, kept by rotations, series and refreshes") {
  Builder b(32);
  const Value x = b.input("x", true, 4), y = b.input("y", true, 8), z = b.input("z");
  CHECK(b.period(z) == 32);
  CHECK(b.period(b.rotate(x, 3)) == 4);
  CHECK(b.period(b.rotate_all(x, std::vector<int>{1, 5})[1]) == 4);
  CHECK(b.period(b.series(x, {{0, 0, 1}})) == 4);
  CHECK(b.period(b.refresh(b.square(x))) == 4);
  CHECK(b.period(b.conjugate(b.times_i(x))) == 4);
  CHECK(b.period(b.multiply(x, y)) == 8);
  CHECK(b.period(b.add(y, z)) == 32);
  CHECK(b.period(b.add_constant(x, 2)) == 4);
  CHECK(b.period(b.multiply_plain(x, ckks::Plain(std::vector<ckks::Complex>(16, 1.0)))) == 16);
  const std::vector<std::pair<Value, Value>> pairs{{x, x}, {x, y}};
  CHECK(b.period(b.sum_of_products(pairs)) == 8);
  const std::vector<Value> mapped =
      b.linear(std::vector<Value>{x, y},
               {.outputs = 2,
                .terms = {{.baby = 9, .weight = ckks::Plain::constant(1)},
                          {.output = 1, .input = 1, .weight = ckks::Plain::shape_only(16, true)}}});
  CHECK(b.period(mapped[0]) == 4);
  CHECK(b.period(mapped[1]) == 16);
  CHECK(b.period(b.sum_over_rotations(z, 2)) == 2);
  CHECK(b.sum_over_rotations(x, 8) == x);
  CHECK_THROWS_AS(b.sum_over_rotations(x, 3), Error);
  CHECK_THROWS_AS(b.input("odd", true, 3), Error);
  CHECK_THROWS_AS(b.input("long", true, 64), Error);
}

TEST_CASE(
    "a bootstrap is valid if the values repeat with its period or, in blocks, one real value is equal in "
    "them") {
  Builder b(64);
  const Value few = b.negate(b.input("few", true, 4)),
              real = b.mark_blocks(b.negate(b.input("x", true, 32)), 4),
              complex = b.mark_blocks(b.negate(b.input("z", false, 32)), 4);
  CHECK_THROWS_AS(b.mark_blocks(real, 3), Error);
  CHECK_THROWS_AS(b.mark_blocks(real, 64), Error);
  const Program program = std::move(b).finish();
  const auto valid = [&](const std::vector<Value>& arguments, const ckks::BootstrapKind& kind) {
    Program one = program;
    Instruction bootstrap{.opcode = Opcode::kBootstrap, .arguments = arguments, .bootstrap = kind};
    for (const Value argument : arguments) {
      bootstrap.results.push_back({one.value_count()});
      one.values.push_back(program.values[static_cast<size_t>(argument.id)]);
    }
    one.instructions.push_back(std::move(bootstrap));
    return refusal_of([&] { validate(one); }).empty();
  };
  for (const size_t period : {0, 4, 8, 16, 32}) CHECK(valid({few}, {period}));
  for (const size_t period : {1, 2, 12, 64}) CHECK_FALSE(valid({few}, {period}));
  for (const ckks::BootstrapKind kind : {ckks::BootstrapKind{32, 4}, {32, 2}, {64, 4}, {32, 1}, {0, 1}})
    CHECK(valid({real}, kind));
  // Longer blocks, a shorter period, too few blocks, none; a complex value; two.
  for (const ckks::BootstrapKind kind : {ckks::BootstrapKind{64, 8}, {16, 2}, {32, 8}, {0, 4}})
    CHECK_FALSE(valid({real}, kind));
  CHECK_FALSE(valid({complex}, {32, 4}));
  CHECK_FALSE(valid({real, real}, {32, 4}));
}

}  // namespace
}  // namespace psm::program
