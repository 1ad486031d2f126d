#include "nn/inputs/gzip_file.h"

#include <signal.h>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "nn/inputs/idx.h"

namespace psm::nn {
namespace {

// "twice twice twice" and 1,000 letters a, as gzip -9 -n writes them.
const std::string kCompressed(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x29\xcf\x4c\x4e\x55\x28\x41\x90\x00"
    "\xd3\xd3\x8d\xd7\x11\x00\x00\x00",
    28);
const std::string kThousand(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4c\x1c\x05\xa3\x60\x14\x0c\x77\x00"
    "\x00\x03\xda\x38\x9a\xe8\x03\x00\x00",
    29);

std::string file_of(const std::string& name, const std::string& content) {
  const std::string path = path_of(name);
  write_file(path, content);
  return path;
}

TEST_CASE("a plain file is read as it is, a compressed one decompressed, whatever their names") {
  CHECK(read_maybe_gzip(file_of("plain.gz", "twice"), 100) == "twice");
  CHECK(read_maybe_gzip(file_of("-dc --help 'compressed' $(x)", kCompressed), 100) == "twice twice twice");
  CHECK(read_maybe_gzip(file_of("empty", ""), 100).empty());
}

TEST_CASE("files that are damaged, cut off, too large or missing are refused with their path") {
  for (const size_t length : {2, 10, 20, 27})
    CHECK_REFUSED(read_maybe_gzip(file_of("cut", kCompressed.substr(0, length)), 100),
                  "cut is damaged or cut off");
  std::string damaged = kCompressed;
  damaged[12] ^= 1;
  CHECK_REFUSED(read_maybe_gzip(file_of("bad", damaged), 100), "bad is damaged");
  CHECK(read_maybe_gzip(file_of("thousand", kThousand), 1000) == std::string(1000, 'a'));
  CHECK_REFUSED(read_maybe_gzip(file_of("thousand", kThousand), 999), "thousand holds more than 999 bytes");
  CHECK_THROWS_AS(read_maybe_gzip("/nowhere/file", 100), Error);
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  CHECK_REFUSED(read_maybe_gzip(file_of("whole", kCompressed), 100), "cannot tell whether gzip read");
  ::signal(SIGCHLD, before);
}

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
    CHECK_REFUSED(parse_idx(bytes, "the file"), why);
    CHECK_REFUSED(parse_idx(bytes, "the file"), "the file");
  };
  refused("", "is not an IDX file");
  refused("\x1f\x8b\x08\x01zip", "is not an IDX file");
  refused(idx({0, 0, 13, 1, 0, 0, 0, 1, 1}), "type 13");
  refused(idx({0, 0, 8, 0}), "0 dimensions");
  refused(idx({0, 0, 8, 5}), "5 dimensions");
  refused(idx({0, 0, 8, 3, 0, 0, 0, 1, 0, 0}), "ends within its header");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 0}), "size 0");
  refused(idx({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}),
          "size 4294967295");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}), "holds 2 entries where its header says 3");
  refused(idx({0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3, 4}), "holds 4 entries");
}

}  // namespace
}  // namespace psm::nn
