#include "ckks/base/files/byte_source.h"

#include <cstdlib>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("a file and the same bytes in memory read alike") {
  const std::string path = (std::filesystem::path(std::getenv("TEST_TMPDIR")) / "bytes").string();
  write_file(path, "0123456789");
  ByteSource file(path), memory("memory", "0123456789");
  for (ByteSource* source : {&file, &memory}) {
    CHECK(source->size() == 10);
    char digits[4] = {};
    CHECK(source->read(digits, 3));
    CHECK(std::string(digits) == "012");
    source->seek(8);
    CHECK(source->left() == 2);
    CHECK_FALSE(source->read(digits, 3));
    CHECK(source->position() == 8);
    CHECK(source->read(digits, 2));
    CHECK(std::string(digits) == "892");
    CHECK(source->read(digits, 0));
  }
  CHECK(file.name() == path);
}

TEST_CASE("what is missing, a folder or no regular file is refused by name") {
  CHECK_THROWS_WITH_AS(ByteSource("/nowhere/file"), "cannot read /nowhere/file: No such file or directory",
                       Error);
  CHECK_THROWS_WITH_AS(ByteSource("/"), "cannot read /: it is a folder", Error);
  CHECK_THROWS_WITH_AS(ByteSource("/dev/zero"), "cannot read /dev/zero: it is no regular file", Error);
}

}  // namespace
}  // namespace psm
