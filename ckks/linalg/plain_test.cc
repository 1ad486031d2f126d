#include "ckks/linalg/plain.h"

#include <cmath>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("a plaintext vector must have a power of two of finite slots") {
  CHECK_THROWS_AS(Plain(std::vector<Complex>(3)), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{}), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{Complex(0, NAN)}), Error);
  const Plain plain(std::vector<Complex>{1.0, -3.0});
  CHECK(plain.real());
  CHECK(plain.at(5) == Complex(-3));
  CHECK_FALSE(Plain::constant({0, 1}).real());
  CHECK_FALSE(Plain::shape_only(8, true).has_data());
}

}  // namespace
}  // namespace psm::ckks
