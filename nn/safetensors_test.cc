#include "nn/safetensors.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

std::string scratch(const char* name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder ? folder : "/tmp") + "/" + name;
}

Safetensors example() {
  Safetensors content;
  content.metadata = {{"config", "{\"a\": 1}"}, {"note", "quotes \" and \\ and \n"}};
  content.tensors = {{"x.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f}}, {"y", {1}, {7}}, {"empty", {0, 4}, {}}};
  return content;
}

// A file with this header and so many bytes of data.
std::string file_with(const std::string& header, std::size_t data) {
  const std::string path = scratch("crafted.safetensors");
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  write_file(path, bytes + header + std::string(data, '\0'));
  return path;
}

TEST_CASE("what was written is read back") {
  const std::string path = scratch("round.safetensors");
  write_safetensors(path, example());
  const Safetensors read = read_safetensors(path);
  CHECK(read.metadata == example().metadata);
  REQUIRE(read.tensors.size() == 3);
  const std::int64_t shape[] = {2, 3}, wrong[] = {3, 2};
  CHECK(read.at("x.weight", shape, path) == example().tensors[0].values);
  CHECK_THROWS_AS(read.at("x.weight", wrong, path), Error);
  CHECK_THROWS_AS(read.at("z", shape, path), Error);
}

TEST_CASE("a file cut anywhere and a file with any bit flipped are refused") {
  const std::string path = scratch("flipped.safetensors");
  write_safetensors(path, example());
  const std::string good = read_file(path, 1 << 20);
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_THROWS_AS(read_safetensors(ByteSource("cut", std::string_view(good).substr(0, length))), Error);
  }
  const std::size_t header_end = good.size() - 7 * sizeof(float);
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i < header_end && good[i] == ' ') continue;  // the padding may become other white space
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    CAPTURE(i);
    CHECK_THROWS_AS(read_safetensors(ByteSource("flipped", bad)), Error);
  }
}

TEST_CASE("headers that lie are refused") {
  auto refused = [](const std::string& header, std::size_t data) {
    CHECK_THROWS_AS(read_safetensors(file_with(header, data), ChecksumRule::kIfPresent), Error);
  };
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(read_safetensors(file_with(good, 8), ChecksumRule::kIfPresent).tensors[0].values.size() == 2);
  CHECK_THROWS_AS(read_safetensors(file_with(good, 8)), Error);  // no checksum
  refused(good, 12);
  refused(good, 4);
  refused(R"({"x":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
  refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8);
  refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8);
  refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      4);
  refused(R"({"x":{"dtype":"F32","data_offsets":[0,8]}})", 8);
  refused(R"([1])", 0);
  refused(R"({"__metadata__":{"k":1}})", 0);
  refused("", 0);
}

TEST_CASE("another type of numbers is refused with what to do") {
  for (const char* type : {"F16", "BF16", "I64"}) {
    const std::string header =
        std::string(R"({"x":{"dtype":")") + type + R"(","shape":[4],"data_offsets":[0,8]}})";
    CHECK_THROWS_WITH_AS(read_safetensors(file_with(header, 8)),
                         doctest::Contains((std::string("tensor x has the type ") + type).c_str()), Error);
    CHECK_THROWS_WITH_AS(read_safetensors(file_with(header, 8)), doctest::Contains("convert the model to float32"),
                         Error);
  }
}

TEST_CASE("a header that is too long or has too many values is refused before it is kept") {
  const std::string long_header = "{\"__metadata__\":{\"k\":\"" + std::string(5 << 20, 'x') + "\"}}";
  CHECK_THROWS_WITH_AS(read_safetensors(file_with(long_header, 0)), doctest::Contains("at most 4194304 are read"), Error);
  std::string many = "{\"x\":{\"dtype\":\"F32\",\"shape\":[0";
  for (int i = 0; i < 70000; ++i) many += ",1";
  many += "],\"data_offsets\":[0,0]}}";
  CHECK_THROWS_WITH_AS(read_safetensors(file_with(many, 0)), doctest::Contains("too many values"), Error);
}

TEST_CASE("a missing file and one that is too large are refused") {
  CHECK_THROWS_AS(read_safetensors(scratch("absent.safetensors")), Error);
  const std::string path = scratch("large.safetensors");
  write_safetensors(path, example());
  CHECK_THROWS_AS(read_safetensors(path, ChecksumRule::kRequired, 100), Error);
}

}  // namespace
}  // namespace psm
