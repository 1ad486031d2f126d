#include "nn/files/safetensors.h"

#include <cmath>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "nn/testing/fuzz_safetensors.h"

namespace psm::nn {
namespace {

Safetensors example() {
  return {.metadata = {{"config", "{\"a\": 1}"}, {"note", "quotes \" and \\ and \n"}},
          .tensors = {{"x.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f}}, {"y", {1}, {7}}, {"empty", {0, 4}, {}}}};
}

// A file with this header and these data.
std::string file_of(const std::string& header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data);
}

// Reads one with so many bytes of zeros as data.
Safetensors read_with(const std::string& header, size_t data, ChecksumRule rule = ChecksumRule::kIfPresent) {
  return read_safetensors(ByteSource("crafted", file_of(header, std::string(data, '\0'))), rule);
}

TEST_CASE("what was written is read back") {
  const std::string path = path_of("round.safetensors");
  write_safetensors(path, example());
  Safetensors read = read_safetensors(path);
  CHECK(read.metadata == example().metadata);
  REQUIRE(read.tensors.size() == 3);
  const int64_t shape[] = {2, 3}, wrong[] = {3, 2};
  CHECK(read.at("x.weight", shape, path) == example().tensors[0].values);
  CHECK_THROWS_AS(read.at("x.weight", wrong, path), Error);
  CHECK_THROWS_AS(read.at("z", shape, path), Error);
}

TEST_CASE("a file cut anywhere and a file with any bit flipped are refused") {
  const std::string path = path_of("flipped.safetensors");
  write_safetensors(path, example());
  const std::string good = read_file(path, 1 << 20);
  for (size_t length = 0; length < good.size(); ++length) {
    CHECK_THROWS_AS(read_safetensors(ByteSource("cut", std::string_view(good).substr(0, length))), Error);
  }
  const size_t header_end = good.size() - 7 * sizeof(float);
  for (size_t i = 0; i < good.size(); ++i) {
    if (i < header_end && good[i] == ' ') continue;  // the padding may become other white space
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    CAPTURE(i);
    CHECK_THROWS_AS(read_safetensors(ByteSource("flipped", bad)), Error);
  }
}

TEST_CASE("headers that lie are refused") {
  auto refused = [](const std::string& header, size_t data) {
    CHECK_THROWS_AS(read_with(header, data), Error);
  };
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(read_with(good, 8).tensors[0].values.size() == 2);
  // The empty one begins where the other does, and stands behind it in the header.
  const std::string empty = R"("e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  CHECK(read_with(replaced(good, "}}", "}," + empty), 8).tensors.size() == 2);
  CHECK_THROWS_AS(read_with(good, 8, ChecksumRule::kRequired), Error);  // no checksum
  refused(good, 12);
  refused(good, 4);
  refused(R"({"x":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,8]}})", 8);
  refused(
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})",
      8);
  refused(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
  refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8);
  refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      4);
  refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
      12);
  refused(R"({"x":{"dtype":"F32","data_offsets":[0,8]}})", 8);
  refused(std::string(1000, '['), 0);
  refused(R"([1])", 0);
  refused(R"({"__metadata__":{"k":1}})", 0);
  refused("", 0);
}

// A file of one tensor whose data are these bytes.
Safetensors read_one(const std::string& type, int count, std::string_view data) {
  const std::string header = message(R"({"x":{"dtype":")", type, R"(","shape":[)", count,
                                     R"(],"data_offsets":[0,)", data.size(), R"(]}})");
  return read_safetensors(ByteSource("one tensor", file_of(header, data)), ChecksumRule::kIfPresent);
}

template <typename Stored>
std::vector<float> values_of(const std::string& type, const std::vector<Stored>& stored) {
  const std::string_view data(reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(Stored));
  return read_one(type, static_cast<int>(stored.size()), data).tensors.at(0).values;
}

TEST_CASE("bfloat16 and double are read as fp32") {
  CHECK(values_of<uint16_t>("BF16", {0x3f80, 0xc0a0, 0x0001}) == std::vector<float>{1.0f, -5.0f, 0x1p-133f});
  CHECK(values_of<double>("F64", {0.1, -3.0}) == std::vector<float>{0.1f, -3.0f});
}

TEST_CASE("more halves than are converted at once are all read") {
  std::vector<uint16_t> stored(100'000);
  for (size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<uint16_t>(i % 0x7c00);
  const std::vector<float> values = values_of("F16", stored);
  REQUIRE(values.size() == stored.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != float_from_half(stored[i])) FAIL("value " << i);
}

TEST_CASE("masks and positions are named but not read") {
  const Safetensors read = read_one("BOOL", 4, std::string("\1\0\1\1", 4));
  CHECK(read.tensors.empty());
  REQUIRE(read.skipped.size() == 1);
  CHECK(read.skipped[0].name == "x");
  CHECK(read.skipped[0].type == "BOOL");
  CHECK(read.skipped[0].shape == std::vector<int64_t>{4});
  CHECK_THROWS_AS(read_one("I64", 4, std::string(8, '\0')), Error);
}

TEST_CASE("an unknown type of numbers is refused with what to do") {
  for (const char* type : {"F8_E4M3", "F128", "f32", ""}) {
    CHECK_REFUSED(read_one(type, 4, std::string(4, '\0')), message("tensor x has the type ", type));
    CHECK_REFUSED(read_one(type, 4, std::string(4, '\0')), "convert the model to float32");
  }
}

TEST_CASE("a header that is too long or has too many values is refused before it is kept") {
  const std::string long_header = "{\"__metadata__\":{\"k\":\"" + std::string(64 << 20, 'x') + "\"}}";
  CHECK_REFUSED(read_with(long_header, 0), "at most 16777216 are read");
  std::string many = "{\"x\":{\"dtype\":\"F32\",\"shape\":[0";
  for (int i = 0; i < 270000; ++i) many += ",1";
  many += "],\"data_offsets\":[0,0]}}";
  CHECK_REFUSED(read_with(many, 0), "too many values");
}

// The definition, in double precision.
double defined_half(int bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST_CASE("every half is the number that IEEE 754 defines, zeros with their sign") {
  int wrong = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    const double expected = defined_half(bits);
    const double found = float_from_half(static_cast<uint16_t>(bits));
    const bool same = std::isnan(expected)
                          ? std::isnan(found)
                          : found == expected && std::signbit(found) == std::signbit(expected);
    wrong += !same;
  }
  CHECK(wrong == 0);
}

// A fuzz target (ckks/base/testing/fuzz.h says how it is run for long).
TEST_CASE("safetensors: whatever the header says, what is read is no larger than the file") {
  const std::string path = path_of("valid");
  write_safetensors(path, example());
  const std::string file = read_file(path, 1 << 20);

  // As a foreign file has it: other types, a mask, no metadata.
  const std::string foreign_header =
      R"({"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[6,8]},)"
      R"("y":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[16,20]}})";
  const std::string foreign = file_of(foreign_header, std::string(20, '\1'));

  FuzzTarget target{.name = "safetensors", .fixed_bytes = 4096, .bytes_per_byte = 100};
  target.corpus = {without_checksum(file), file, foreign};
  target.repair = repair_safetensors;
  target.marks = safetensors_marks;
  target.decode = [](std::string_view bytes) {
    Safetensors read = read_safetensors(ByteSource("input", bytes), ChecksumRule::kIfPresent);
    size_t values = 0;
    for (const NamedTensor& tensor : read.tensors) {
      size_t count = 1;
      for (int64_t size : tensor.shape) count *= static_cast<size_t>(size);
      PSM_CHECK(count == tensor.values.size(), count);
      values += count;
    }
    PSM_CHECK(values * 2 <= bytes.size(), values);
    Safetensors opened = open_safetensors(ByteSource("input", bytes), ChecksumRule::kIfPresent);
    for (size_t i = 0; i < opened.tensors.size(); ++i) PSM_CHECK(opened.load(i) == read.tensors[i].values, i);
    const int64_t shape[] = {1};
    const std::vector<float> y = read.at("y", shape, "input");
    PSM_CHECK(read.take("y", shape, "input") == y && opened.take("y", shape, "input") == y);
  };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::nn
