#include "ckks/program/testing/sample_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"

namespace psm::program {
namespace {

// Multiples of (3 + 4i) / 128: their absolute values are exact, whoever computes them.
std::vector<ckks::Complex> periodic(size_t period, size_t step) {
  std::vector<ckks::Complex> values(period);
  for (size_t s = 0; s < period; ++s)
    if (s % 7 != 3) values[s] = static_cast<double>(step * s % 27) / 128 * ckks::Complex(3, 4);
  return values;
}

}  // namespace

SampleProgram::SampleProgram(PlainKeeper* keeper) : context(ckks::insecure_bootstrappable(10)) {
  Builder b(kSlots, keeper);
  const Value x = b.input("x"), r = b.input("r", true, 64);
  const std::vector<ckks::Complex> mask = periodic(kSlots, 5);
  Value masked;
  {
    Builder::Scope scope(b, "layer 0");
    masked = b.multiply_plain(x, ckks::Plain(mask));
    Value sum = b.sum_of_products(std::vector<std::pair<Value, Value>>{{masked, b.rotate(x, 3)}, {x, r}});
    sum = b.add_plain(sum, ckks::Plain(periodic(64, 2)));
    const std::vector<Value> turned = b.rotate_all(sum, std::vector<int>{1, -2});
    sum = b.subtract(b.add(turned[0], b.conjugate(turned[1])), b.negate(b.times_i(x)));
    ckks::LinearTransform map{.outputs = 1, .terms = {}, .divides_sources = true};
    for (int baby = 0; baby < 3; ++baby)
      map.terms.push_back(
          {.giant = 4 * (baby % 2), .baby = baby, .weight = ckks::Plain(periodic(32, 3 + baby))});
    sum = b.multiply_constant(b.linear(std::vector<Value>{sum}, map)[0], 0.01);
    Value sums = b.multiply_constant(b.sum_of_rotations(r, 64, 4), 0.1);
    sums = b.refresh(b.series(sums, {{0.1, 0.2, 0.05, 0.3}}));
    b.check_range(sums, -1, 1, "the series", ckks::Plain(periodic(64, 1)));
    Value deep = sums;
    for (int i = 0; i < 14; ++i) deep = b.multiply(deep, sums);
    b.output("deep", deep);
    b.output("sum", b.multiply(sum, sums));
  }
  const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, {{}});
  entry.name = "pass";
  entry.plan = plan(std::move(b).finish(), costs_of(context, bootstraps));
  entry.keys = key_request(entry.plan, bootstraps);
  entry.argument = "length";
  entry.first = 1;
  for (int length = 1; length <= 3; ++length) {
    std::vector<ckks::Complex> values = mask;
    std::fill(values.begin() + 128 * length, values.end(), 0.0);
    entry.by_argument.push_back({{masked, ckks::Plain(std::move(values))}});
  }
}

ProgramFile SampleProgram::file() const {
  ProgramFile program;
  program.spec = context.spec();
  program.entries.push_back(entry);
  program.about["model"] = "a sample";
  return program;
}

ProgramFile write_sample_program(const std::string& path) {
  ProgramWriter writer(path);
  ProgramFile program = SampleProgram(&writer.keeper()).file();
  writer.finish(program);
  return program;
}

}  // namespace psm::program
