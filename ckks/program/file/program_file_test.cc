#include "ckks/program/file/program_file.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planning/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/chain/context.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = 512;  // insecure rings of degree 2^10

std::string path_of(const char* name) { return (std::filesystem::temp_directory_path() / name).string(); }

ckks::Plain periodic(size_t period, double shift) {
  std::vector<ckks::Complex> values(period);
  for (size_t s = 0; s < period; ++s)
    if (s % 7 != 3)
      values[s] = {std::sin(static_cast<double>(s) + shift), std::cos(shift * static_cast<double>(s))};
  return ckks::Plain(std::move(values));
}

// Every opcode, a refresh that needs a bootstrap, and a mask that an argument exchanges.
struct Sample {
  explicit Sample(PlainKeeper* keeper = nullptr) : context(ckks::insecure_bootstrappable(10)) {
    Builder b(kSlots, keeper);
    const Value x = b.input("x"), r = b.input("r", true, 64);
    {
      Builder::Scope scope(b, "layer 0");
      const Value masked = b.multiply_plain(x, periodic(kSlots, 1));
      mask = masked;
      Value sum = b.sum_of_products(std::vector<std::pair<Value, Value>>{{masked, b.rotate(x, 3)}, {x, r}});
      sum = b.add_plain(sum, periodic(64, 2));
      const std::vector<Value> turned = b.rotate_all(sum, std::vector<int>{1, -2});
      sum = b.subtract(b.add(turned[0], b.conjugate(turned[1])), b.negate(b.times_i(x)));
      ckks::LinearTransform map{.outputs = 1, .terms = {}};
      for (int baby = 0; baby < 3; ++baby)
        map.terms.push_back({.giant = 4 * (baby % 2), .baby = baby, .weight = periodic(32, 3 + baby)});
      sum = b.multiply_constant(b.linear(std::vector<Value>{sum}, map)[0], 0.01);
      Value sums = b.sum_of_rotations(r, 64, 4);
      sums = b.multiply_constant(sums, 0.1);
      sums = b.series(sums, {{0.1, 0.2, 0.05, 0.3}});
      sums = b.refresh(sums);
      b.check_range(sums, -1, 1, "the series", periodic(64, 0));
      Value deep = sums;
      for (int i = 0; i < 14; ++i) deep = b.multiply(deep, sums);
      b.output("deep", deep);
      b.output("sum", b.multiply(sum, sums));
    }
    const ckks::BootstrapPlan bootstrap(context);
    const KernelSeconds kernels;
    const CostModel costs(context.chain(), kernels, figures_of(bootstrap, kernels));
    entry.name = "pass";
    entry.plan = plan(std::move(b).finish(), budget_of(context), costs);
    entry.keys = key_request(entry.plan, &bootstrap);
    entry.argument = "length";
    entry.first = 1;
    for (int length = 1; length <= 3; ++length) {
      for (const Instruction& i : entry.plan.program.instructions) {
        if (i.opcode != Opcode::kMultiplyPlain || i.results[0] != mask) continue;
        Instruction other = i;
        std::vector<ckks::Complex> values = periodic(kSlots, 1).to_vector();
        std::fill(values.begin() + 128 * length, values.end(), 0.0);
        other.plain = ckks::Plain(std::move(values));
        entry.by_argument.push_back({other});
      }
    }
  }
  ckks::Context context;
  Value mask;
  EntryPoint entry;
};

ProgramFile write_sample(const std::string& path) {
  ProgramWriter writer(path);
  Sample sample(&writer.keeper());
  ProgramFile program;
  program.spec = sample.context.spec();
  program.entries.push_back(sample.entry);
  program.about["model"] = "a sample";
  writer.finish(program);
  return program;
}

std::map<std::string, SlotVector> inputs() {
  SlotVector x(kSlots), r(kSlots);
  for (size_t s = 0; s < kSlots; ++s) {
    x[s] = {0.3 * std::sin(0.1 * static_cast<double>(s)), 0.2 * std::cos(0.7 * static_cast<double>(s))};
    r[s] = 0.4 * std::cos(static_cast<double>(s % 64));
  }
  return {{"x", x}, {"r", r}};
}

TEST_CASE("what was written is read again: the same program, the same answers") {
  const std::string path = path_of("sample.program");
  const ProgramFile written = write_sample(path), read = read_program(path);
  CHECK(read.digest == written.digest);
  CHECK(read.about.at("model", "about").string("model") == "a sample");
  CHECK(read.spec.log_n == 10);
  const EntryPoint& entry = read.entry("pass");
  const Plan& plan = entry.plan;
  const Plan& own = written.entries[0].plan;
  REQUIRE(plan.program.instructions.size() == own.program.instructions.size());
  for (size_t i = 0; i < own.program.instructions.size(); ++i) {
    CHECK(plan.program.instructions[i].opcode == own.program.instructions[i].opcode);
    CHECK(plan.program.instructions[i].arguments == own.program.instructions[i].arguments);
    CHECK(plan.program.instructions[i].results == own.program.instructions[i].results);
    CHECK(plan.program.instructions[i].label == own.program.instructions[i].label);
    CHECK(plan.argument_level[i] == own.argument_level[i]);
  }
  CHECK(plan.level == own.level);
  CHECK(entry.keys.galois_levels == written.entries[0].keys.galois_levels);
  // Against a program whose constants never were in a file: rounding to floats is all that differs.
  const Sample sample;
  for (const int length : {0, 1, 3}) {
    const Constants none;
    const Program in_file = with_constants(plan.program, length == 0 ? none : entry.constants(length)),
                  in_memory = with_constants(sample.entry.plan.program,
                                             length == 0 ? none : sample.entry.constants(length));
    const TwinResult a = run_twin(in_file, inputs()), b = run_twin(in_memory, inputs());
    for (const auto& [name, slots] : a.outputs)
      for (size_t s = 0; s < kSlots; ++s) CHECK(std::abs(slots[s] - b.outputs.at(name)[s]) < 1e-6);
  }
  CHECK_THROWS_WITH_AS(entry.constants(4), "pass has no length 4; there are 1 to 3", Error);
  std::filesystem::remove(path);
}

TEST_CASE("an entry takes four bytes, zeros none, and what two constants share stands once") {
  const std::string path = path_of("constants.program");
  AtomicFile file(path);
  const auto writer = std::make_shared<ConstantWriter>(file);
  std::vector<ckks::Complex> mask(2048);
  for (size_t s = 0; s < mask.size(); ++s) mask[s] = std::polar(1.0, 0.1 * static_cast<double>(s));
  const ckks::Plain whole = writer->keep(ckks::Plain(mask));
  CHECK(writer->section_bytes() == 8 * mask.size());
  std::fill(mask.begin() + 1024, mask.end(), 0.0);
  const ckks::Plain half = writer->keep(ckks::Plain(mask));
  CHECK(writer->section_bytes() == 8 * mask.size());  // a prefix
  CHECK(writer->keep(ckks::Plain(mask)).identity() == half.identity());
  CHECK(half.identity() != whole.identity());
  std::vector<ckks::Complex> real(256);
  for (size_t s = 5; s < 105; ++s) real[s] = 1.0 / static_cast<double>(s);
  const ckks::Plain weights = writer->keep(ckks::Plain(real));
  CHECK(writer->section_bytes() == 8 * mask.size() + 4 * 100);
  CHECK(weights.real());
  for (size_t s = 0; s < real.size(); ++s)
    CHECK(weights.at(s).real() == static_cast<double>(static_cast<float>(real[s].real())));
  const ckks::Plain tiny = writer->keep(ckks::Plain::constant(1.0 / 3));  // in full
  CHECK(tiny.at(0) == 1.0 / 3);
  CHECK(writer->keep(ckks::Plain(std::vector<ckks::Complex>(64, 1e-300))).at(3) == 1e-300);
  CHECK(weights.mean_square() == doctest::Approx(ckks::Plain(real).mean_square()));
  CHECK(half.max_abs() == doctest::Approx(1));
}

TEST_CASE("a damaged file is refused in one line") {
  const std::string path = path_of("damaged.program");
  write_sample(path);
  std::string bytes = read_file(path, 1 << 24);
  const auto refusal = [&](const std::string& content) -> std::string {
    write_file(path, content);
    try {
      const ProgramFile program = read_program(path);
      for (uint32_t c = 0; c < program.constants->size(); ++c) program.constants->plain(c).values();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(bytes).empty());
  CHECK(refusal("").find("it is empty") != std::string::npos);
  CHECK(refusal("a text").find("it is not a program") != std::string::npos);
  CHECK(refusal(bytes.substr(0, bytes.size() - 1)).find("it was cut") != std::string::npos);
  CHECK(refusal(bytes + "x").find("it was cut, or has grown") != std::string::npos);
  const auto flipped = [&](size_t place) {
    std::string other = bytes;
    other[place] = static_cast<char>(other[place] ^ 4);
    return refusal(other);
  };
  CHECK(flipped(8).find("of version") != std::string::npos);
  CHECK(flipped(70).find("its digest differs") != std::string::npos);
  CHECK(flipped(bytes.size() - 5).find("its digest differs") != std::string::npos);
  CHECK(flipped(4096 + 50).find("is damaged (its checksum differs)") != std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace psm::program
