// Fuzz targets of a program's file (ckks/base/testing/fuzz.h says how they are run for long): whatever stands in it, it
// is refused, or verified and its constants read.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "ckks/base/files/file.h"
#include "ckks/base/random/sha256.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/program/testing/sample_program.h"
#include "ckks/program/verify/verify.h"
#include "ckks/wire/tables.h"

namespace psm::program {
namespace {

constexpr size_t kConstantsAt = 4096, kSpecNumbers = 61;  // what follows the name of the parameters

const std::string& sample() {
  static const std::string bytes = [] {
    const std::string path = path_of("sample.program");
    write_sample_program(path);
    return read_file(path, 1 << 24);
  }();
  return bytes;
}

template <typename T>
T number_at(const std::string& file, size_t at) {
  const auto* in = reinterpret_cast<const uint8_t*>(file.data()) + at;
  return wire::get<T>(in);
}

// Where things are in a file, as far as its own numbers lead.
struct Layout {
  size_t tables = 0, spec_end = 0, pages = 0, page_count = 0;

  static std::optional<Layout> of(const std::string& file) {
    Layout all;
    bool inside = file.size() >= kConstantsAt;
    const auto skip = [&](size_t at, size_t bytes) {
      inside = inside && at <= file.size() && bytes <= file.size() - at;
      return inside ? at + bytes : 0;
    };
    // The number at a place, which is skipped too.
    const auto count = [&](size_t& at) -> size_t {
      const size_t end = skip(at, 4), number = inside ? number_at<uint32_t>(file, at) : 0;
      at = end;
      return number;
    };
    size_t at = all.tables = skip(kConstantsAt, inside ? number_at<uint64_t>(file, 24) : 0);
    const size_t name = count(at);
    at = all.spec_end = skip(skip(at, name), kSpecNumbers);
    const size_t about = count(at);
    at = skip(at, about);
    all.page_count = count(at), all.pages = at;
    skip(at, sizeof(Sha256::Digest) * all.page_count);
    return inside ? std::optional(all) : std::nullopt;
  }
};

// Makes the checksums of all constants right whose bytes are in the file.
void repair_checksums(std::string& file) {
  const std::optional<Layout> layout = Layout::of(file);
  if (!layout) return;
  size_t at = kConstantsAt;
  for (size_t page = 0; page < layout->page_count && at < layout->tables; ++page, at += kPageBytes) {
    const auto checksum = sha256(file.data() + at, std::min(kPageBytes, layout->tables - at));
    std::memcpy(file.data() + layout->pages + page * checksum.size(), checksum.data(), checksum.size());
  }
}

ProgramFile read_whole(const std::string& bytes) {
  ProgramFile program = read_program(in_file(bytes));
  for (uint32_t c = 0; c < program.constants->size(); ++c)
    for (const ckks::Complex& value : program.constants->plain(c).values())
      PSM_CHECK(std::isfinite(value.real()) && std::isfinite(value.imag()), c);
  return program;
}

TEST_CASE("the file as a whole: its header and its constants") {
  // One period of the largest ring.
  FuzzTarget target{.name = "program file", .fixed_bytes = 1200 << 10, .bytes_per_byte = 64};
  target.corpus = {sample()};
  target.decode = [](std::string_view bytes) { read_whole(std::string(bytes)); };
  target.marks = [](const std::string&) {
    std::vector<size_t> marks;
    for (size_t at = 0; at < 64; at += 4) marks.push_back(at);
    marks.insert(marks.end(), {kConstantsAt, Layout::of(sample())->tables});
    return marks;
  };
  target.repair = [](std::string& file, TrainingRandom& random) {
    if (random.integer(4) > 0) repair_checksums(file);
    seal_program(file);
  };
  check_fuzz(target);
}

TEST_CASE("its tables, their digest and checksums right again: refused or verified") {
  const size_t tables = Layout::of(sample())->tables;
  // A period of the largest ring, plans of eight kinds of bootstraps.
  FuzzTarget target{.name = "program tables", .fixed_bytes = size_t{4} << 20, .bytes_per_byte = 64};
  target.corpus = {sample().substr(tables)};
  target.marks = [](const std::string& valid) {
    std::vector<size_t> marks(valid.size());
    for (size_t i = 0; i < marks.size(); ++i) marks[i] = i;
    return marks;
  };
  const ckks::ParameterSpec spec = SampleProgram().context.spec();
  const ckks::Context context(spec);
  target.decode = [&](std::string_view bytes) {
    std::string file = sample().substr(0, tables) + std::string(bytes);
    if (bytes.size() % 4 > 0) repair_checksums(file);
    seal_program(file);
    ProgramFile program = read_whole(file);
    if (program.spec.log_n != spec.log_n) throw Error("another ring");
    verify(program, context);
    // Whoever asks for an argument beyond the last, or for an entry point that is not there, is refused.
    for (const EntryPoint& entry : program.entries)
      program.entry(entry.name).constants(entry.first + static_cast<int>(bytes.size() % 4));
    if (bytes.size() % 7 == 0) program.entry(std::to_string(program.id()));
  };
  target.nearly = true;  // its length asks for what is not there
  check_fuzz(target);
}

TEST_CASE("its parameters: none take more than the largest ring does") {
  const std::string head = sample().substr(0, Layout::of(sample())->tables),
                    rest = sample().substr(Layout::of(sample())->spec_end);
  FuzzTarget target{.name = "program parameters", .fixed_bytes = size_t{300} << 20};
  target.corpus = {sample().substr(head.size(), sample().size() - head.size() - rest.size())};
  target.decode = [&](std::string_view bytes) {
    std::string file = head + std::string(bytes) + rest;
    seal_program(file);
    read_whole(file);
    load_program(path_of("decoded"));
  };
  check_fuzz(target, 300);
}

// What stands after a number in front of it, as the tables have it.
std::string numbered(uint32_t number, const std::string& text) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number) + text;
}

TEST_CASE("no list and no label takes more memory than its bytes justify") {
  const auto refusal = [](const std::string& before, const std::string& after, size_t more) {
    std::string file = sample();
    const size_t at = file.rfind(before);
    REQUIRE(at != std::string::npos);
    file.replace(at, before.size(), after);
    file.append(more, '\0');
    seal_program(file);
    const AllocationMeter meter;
    CHECK_THROWS_AS(read_whole(file), Error);
    CHECK(meter.peak_bytes() < 64 * file.size());
  };
  const std::string pass = numbered(4, "pass"), layer = numbered(7, "layer 0");
  refusal(numbered(1, pass), numbered(200000, pass), 200000);  // entry points
  refusal(layer, numbered(100000, std::string(100000, 'a')), 0);
}

TEST_CASE("a value that is not finite, with its checksum right, is refused when it is read") {
  for (const float forged :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::string file = sample();
    std::memcpy(file.data() + kConstantsAt, &forged, sizeof forged);
    repair_checksums(file);
    seal_program(file);
    CHECK_REFUSED(read_whole(file), "constant 0 has a value that is not finite");
  }
}

}  // namespace
}  // namespace psm::program
