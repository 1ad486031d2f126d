#include "ckks/program/file/program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ckks/base/files/hex.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/testing/sample_program.h"
#include "ckks/wire/tables.h"

namespace psm::program {
namespace {

constexpr size_t kSlots = SampleProgram::kSlots;

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
  const ProgramFile written = write_sample_program(path), read = read_program(path);
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
    if (own.program.instructions[i].linear) CHECK(plan.program.instructions[i].linear->divides_sources);
  }
  CHECK(plan.level == own.level);
  CHECK((entry.keys == written.entries[0].keys));
  // Against a program whose constants never were in a file: rounding to floats is all that differs.
  const SampleProgram sample;
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
}

// A program that was compiled goes on being read as what it was. Where this fails because the format changed, raise the
// version (program_file.cc); where the planner decides otherwise, or the sample is another, only the digest changes.
TEST_CASE("the sample's file is the one that it was") {
  const std::string path = path_of("frozen.program");
  const ProgramDigest digest = write_sample_program(path).digest;
#if defined(__x86_64__)  // the C library's functions round differently on other processors
  CHECK(hex(digest.data(), digest.size()) ==
        "0d0a1aec33c297e6f802f2c0462811239dc06dd6865373afe62f9edbc591052b");
#endif
  CHECK(read_program(path).digest == digest);
  std::filesystem::remove(path);
}

TEST_CASE("names that would not fit a line of a terminal are not written") {
  for (const std::string& label : {std::string("a\x1b[2J"), std::string(300, 'a')}) {
    ProgramWriter writer(path_of("named.program"));
    ProgramFile program = SampleProgram(&writer.keeper()).file();
    program.entries[0].plan.program.instructions[3].label = label;
    CHECK_REFUSED(writer.finish(program), "a name that is no short line");
  }
}

TEST_CASE("a file that is cut or written to while it is in use is refused, even what was read before") {
  const std::string path = path_of("in_use.program");
  for (const bool cut : {true, false}) {
    write_sample_program(path);
    const ProgramFile program = read_program(path);
    program.constants->plain(0).values();
    if (cut)
      std::filesystem::resize_file(path, 4096);
    else
      std::filesystem::last_write_time(
          path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
    CHECK_REFUSED(program.constants->plain(0).values(), "was changed while it was in use");
  }
}

// Bytes of files that the process has in memory.
size_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0, shared = 0;
  statm >> all >> resident >> shared;
  return shared * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

constexpr size_t kVectorBytes = sizeof(float) * 2 * kRunSlots;

// The sample's file with so many vectors more; runs lie across the ends of pages.
void write_large_program(const std::string& path, size_t vectors) {
  ProgramWriter writer(path);
  ProgramFile program = SampleProgram(&writer.keeper()).file();
  TrainingRandom random(1);
  std::vector<ckks::Complex> weights(kRunSlots);
  for (size_t c = 0; c < vectors; ++c) {
    for (ckks::Complex& weight : weights) weight = {random.uniform(0.1, 1), random.uniform(0.1, 1)};
    writer.keeper().keep(ckks::Plain(weights));
  }
  writer.finish(program);
}

TEST_CASE("damage is found in every page of the constants, and in no other") {
  const std::string path = path_of("pages.program");
  write_large_program(path, 5 * kPageBytes / (2 * kVectorBytes));  // two and a half pages
  const std::string good = read_file(path, 1 << 24);
  const size_t bytes = [&] {
    const auto* at = reinterpret_cast<const uint8_t*>(good.data()) + 24;
    return wire::get<uint64_t>(at);
  }();
  REQUIRE(bytes > 2 * kPageBytes);
  REQUIRE(bytes % kPageBytes != 0);
  for (const size_t place : {size_t{0}, kPageBytes - 1, kPageBytes, 2 * kPageBytes + 5, bytes - 1}) {
    std::string damaged = good;
    damaged[4096 + place] = static_cast<char>(damaged[4096 + place] ^ 1);
    write_file(path, damaged);
    const ProgramFile read = read_program(path);
    size_t refused = 0;
    for (uint32_t c = 0; c < read.constants->size(); ++c)
      refused += !refusal_of([&] { read.constants->plain(c).values(); }).empty();
    CHECK(refused > 0);
    CHECK(refused < read.constants->size());
  }
  std::filesystem::remove(path);
}

TEST_CASE("weights that were read do not stay in memory") {
  const std::string path = path_of("large.program");
  write_large_program(path, 3 * kMostMapped / kVectorBytes);
  const ProgramFile read = read_program(path);
  const size_t before = mapped_bytes();
  size_t most = 0;
  for (uint32_t c = 0; c < read.constants->size(); ++c) {
    read.constants->plain(c).values();
    if (c % 1000 == 0) most = std::max(most, mapped_bytes());
  }
  CHECK(most < before + 2 * kMostMapped);
  CHECK(most > before);
  std::filesystem::remove(path);
}

TEST_CASE("a damaged file is refused in one line") {
  const std::string path = path_of("damaged.program");
  write_sample_program(path);
  std::string bytes = read_file(path, 1 << 24);
  const auto refusal = [&](const std::string& content) {
    write_file(path, content);
    return refusal_of([&] {
      const ProgramFile program = read_program(path);
      for (uint32_t c = 0; c < program.constants->size(); ++c) program.constants->plain(c).values();
    });
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
  CHECK(flipped(200).find("its header is damaged") != std::string::npos);
  CHECK(flipped(bytes.size() - 5).find("its digest differs") != std::string::npos);
  CHECK(contains(flipped(4096 + 50), "its constants are damaged (the checksum from byte 4096 on differs)"));
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // nobody writes to it: reading it would wait
  CHECK_REFUSED(read_program(path), "no regular file");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace psm::program
