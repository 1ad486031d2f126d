#include "nn/inputs/idx.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

std::string idx(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST_CASE("an array is read with its shape, sizes big-endian") {
  const IdxArray labels = parse_idx(idx({0, 0, 8, 1, 0, 0, 0, 3, 7, 255, 0}), "labels");
  CHECK(labels.shape == std::vector<size_t>{3});
  CHECK(labels.entries == std::vector<uint8_t>{7, 255, 0});
  const IdxArray images = parse_idx(idx({0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6}), "images");
  CHECK(images.shape == std::vector<size_t>{1, 2, 1});
  CHECK(parse_idx(idx({0, 0, 8, 1, 0, 0, 1, 2}) + std::string(258, 'x'), "labels").entries.size() == 258);
}

TEST_CASE("bytes that are no array, or not as many as the header says, are refused by name") {
  const auto refused = [](const std::string& bytes, const char* why) {
    CHECK_THROWS_WITH_AS(parse_idx(bytes, "the file"), doctest::Contains(why), Error);
    CHECK_THROWS_WITH_AS(parse_idx(bytes, "the file"), doctest::Contains("the file"), Error);
  };
  refused("", "is not an IDX file");
  refused("\x1f\x8b\x08\x01zip", "is not an IDX file");
  refused(idx({0, 0, 13, 1, 0, 0, 0, 1, 1}), "type 13");
  refused(idx({0, 0, 8, 0}), "0 dimensions");
  refused(idx({0, 0, 8, 4}), "4 dimensions");
  refused(idx({0, 0, 8, 3, 0, 0, 0, 1, 0, 0}), "ends within its header");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 0}), "size 0");
  refused(idx({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
          "size 4294967295");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}), "holds 2 entries where its header says 3");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3, 4}), "holds 4 entries");
}

}  // namespace
}  // namespace psm::nn
