#include "ckks/base/files/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/memory.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/base/testing/runfile.h"

namespace psm {
namespace {

struct Synced {
  ino_t inode;
  int files_named_file;  // in the folder of the test below
};
std::vector<Synced> synced;

ino_t inode_of(const std::string& path) {
  struct stat status;
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

struct NewFolder {
  static inline int count = 0;
  const std::string folder = path_of("folder_" + std::to_string(++count)), path = folder + "/file";

  NewFolder() { std::filesystem::create_directory(folder); }
  auto files() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }
};

TEST_CASE_FIXTURE(NewFolder, "a write that is given up leaves what was there, and nothing beside it") {
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  CHECK(read_file(path, 100) == "old");
  CHECK(files() == 1);
}

TEST_CASE_FIXTURE(NewFolder,
                  "two writers of one file at one time do not meet: the last one's content stays, whole") {
  AtomicFile first(path), second(path);
  first.write("first");
  second.write("second");
  first.commit();
  CHECK(read_file(path, 100) == "first");
  second.commit();
  CHECK(read_file(path, 100) == "second");
  CHECK(files() == 1);
}

TEST_CASE_FIXTURE(NewFolder,
                  "what a killed process left goes with the next writer, what a living one writes stays") {
  in_child([&] {
    AtomicFile file(path);
    file.write("half");
    _exit(0);  // no destructor: as if killed
    return 0;
  });
  REQUIRE(files() == 1);
  write_file(path + ".part-of-another", "a file of the user's, not a temporary one");
  AtomicFile living(path);
  living.write("living");
  write_file(path, "content");
  living.commit();
  CHECK(read_file(path, 100) == "living");
  CHECK(std::filesystem::exists(path + ".part-of-another"));
  CHECK(files() == 2);
}

TEST_CASE_FIXTURE(NewFolder, "the name of what is not whole yet never comes again") {
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) {
    AtomicFile file(path);
    const std::string name = std::filesystem::directory_iterator(folder)->path().filename();
    CHECK(name.starts_with("file.part-"));
    names.insert(name);
  }
  CHECK(names.size() == 20);
}

TEST_CASE("a file's content is on the disk before its name is, and then the name") {
  const std::string folder = path_of("durable");
  std::filesystem::create_directory(folder);
  synced.clear();
  write_file(folder + "/file", "content");
  REQUIRE(synced.size() == 2);
  CHECK(synced[0].inode == inode_of(folder + "/file"));
  CHECK(synced[1].inode == inode_of(folder));
  CHECK(synced[0].files_named_file == 0);
  CHECK(synced[1].files_named_file == 1);
}

TEST_CASE("a file is its owner's alone, whatever stood in its place") {
  const std::string path = path_of("own");
  for (const AtomicFile::Kind kind : {AtomicFile::Kind::kDefault, AtomicFile::Kind::kSecret}) {
    AtomicFile file(path, kind);
    file.write("s");
    file.commit();
    struct stat status;
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    REQUIRE(chmod(path.c_str(), 0644) == 0);
  }
}

TEST_CASE("links are followed and stay, and no file takes the place of a pipe") {
  namespace fs = std::filesystem;
  const fs::path folder = path_of("links");
  fs::create_directories(folder / "elsewhere");
  write_file(folder / "elsewhere/file", "old");
  fs::create_symlink("elsewhere/file", folder / "link");
  fs::create_symlink("link", folder / "second");
  fs::create_symlink(folder / "elsewhere/fresh", folder / "dangling");
  for (const auto& [name, target] : {std::pair("second", "file"), {"dangling", "fresh"}}) {
    write_file(folder / name, name);
    CHECK(fs::is_symlink(folder / name));
    CHECK(read_file(folder / "elsewhere" / target, 100) == name);
  }
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(std::distance(fs::directory_iterator(folder / "elsewhere"), {}) == 2);
  fs::create_symlink("loop", folder / "loop");
  CHECK_THROWS_AS(write_file(folder / "loop", ""), Error);

  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "to_pipe");
  for (const char* name : {"pipe", "to_pipe"}) {
    CHECK_REFUSED(write_file(folder / name, "text"), "it is a device, a pipe or a socket");
    CHECK(fs::is_fifo(folder / name));
    CHECK_REFUSED(read_file(folder / name, 100), "it is no regular file");  // and no writer is waited for
  }
  CHECK(fs::is_symlink(folder / "to_pipe"));
}

TEST_CASE("a folder that could be made and written to is known before it is made") {
  const std::string folder = path_of("outputs");
  require_writable_folder(folder + "/a/b");
  CHECK_FALSE(std::filesystem::exists(folder));
  write_file(folder, "a file");
  CHECK_THROWS_AS(require_writable_folder(folder), Error);
  CHECK_THROWS_AS(require_writable_folder(folder + "/a"), Error);
  CHECK_THROWS_AS(require_writable_folder("/proc/nowhere/at/all"), Error);
}

TEST_CASE("what is missing, a folder, no regular file or too large is refused by name") {
  CHECK_THROWS_WITH_AS(read_file("/nowhere/file", 100),
                       "cannot read /nowhere/file: No such file or directory", Error);
  CHECK_THROWS_WITH_AS(read_file("/", 100), "cannot read /: it is a folder", Error);
  CHECK_THROWS_WITH_AS(read_file("/dev/zero", 100), "cannot read /dev/zero: it is no regular file", Error);
  const std::string path = path_of("large");
  write_file(path, std::string(101, 'x'));
  CHECK_THROWS_AS(read_file(path, 100), Error);
  CHECK_THROWS_AS(AtomicFile("/nowhere/at/all"), Error);
  CHECK_THROWS_AS(AtomicFile(""), Error);
}

TEST_CASE_FIXTURE(NewFolder, "a full disk is an error, and nothing half-written stays") {
  write_file(path, "old");
  enum Step { kOpening, kWriting, kCommitting, kDone };
  // A process whose files end at a kilobyte. What the library's buffer holds meets that in commit() alone.
  for (const auto& [bytes, failing] : {std::pair(size_t{1} << 20, kWriting), {2000, kCommitting}}) {
    const int reached = in_child([&, bytes = bytes] {
      const rlimit end{1024, 1024};
      if (setrlimit(RLIMIT_FSIZE, &end) != 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return -1;
      int step = kOpening;
      try {
        AtomicFile file(path);
        step = kWriting;
        file.write(std::string(bytes, 'x'));
        step = kCommitting;
        file.commit();
        step = kDone;
      } catch (const Error&) {
      }
      return step;
    });
    CHECK(reached == failing);
    CHECK(read_file(path, 100) == "old");
    CHECK(files() == 1);
  }
}

TEST_CASE("relative paths are the user's") {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  CHECK(resolve_user_path("model.bin") == "/home/user/model.bin");
  CHECK(resolve_user_path("/abs/model.bin") == "/abs/model.bin");
  CHECK(resolve_user_path("") == "");  // a flag that was not given
  unsetenv("BUILD_WORKING_DIRECTORY");
  CHECK(resolve_user_path("model.bin") == "model.bin");
}

TEST_CASE("the checksum is CRC-64/XZ, and can be taken in pieces") {
  CHECK(checksum64("123456789", 9) == 0x995DC9BBDF1939FA);  // the check value of the catalogue of CRCs
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const uint64_t whole = checksum64(text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    CHECK(checksum64(text.data() + cut, text.size() - cut, checksum64(text.data(), cut)) == whole);
  }
}

TEST_CASE("long data, folded sixteen bytes at a time, has the checksum that bits one by one give") {
  std::vector<uint8_t> data(1000);
  uint64_t state = 1;
  for (uint8_t& byte : data) byte = static_cast<uint8_t>((state = state * 6364136223846793005u + 1) >> 56);
  for (size_t begin : {0, 1, 7}) {
    for (size_t length : {0, 15, 63, 64, 65, 127, 128, 200, 512, 991}) {
      CAPTURE(begin);
      CAPTURE(length);
      const uint64_t seed = length * 0x9E3779B97F4A7C15u;
      CHECK(checksum64(data.data() + begin, length, seed) ==
            checksum64_of_secret(data.data() + begin, length, seed));
    }
  }
}

TEST_CASE_FIXTURE(NewFolder, "pages of files leave a container's memory available, and no limit is none") {
  const auto available = [&](const char* group) { return control_group_available_bytes(folder, group); };
  CHECK(available("") == UINT64_MAX);
  write_file(folder + "/memory.max", "max\n");
  CHECK(available("") == UINT64_MAX);
  write_file(folder + "/memory.max", "1000\n");
  write_file(folder + "/memory.current", "900\n");
  CHECK(available("") == 100);
  write_file(folder + "/memory.stat", "anon 300\nfile 600\ninactive_file 400\nactive_file 200\n");
  CHECK(available("") == 700);
  write_file(folder + "/memory.current", "2000\n");
  CHECK(available("") == 0);
  // The least of a group and of those around it.
  write_file(folder + "/memory.max", "4000\n");
  std::filesystem::create_directories(folder + "/a/b");
  for (const auto& [group, limit] : {std::pair("/a", "900\n"), {"/a/b", "1000\n"}})
    write_file(folder + group + "/memory.max", limit);
  CHECK(available("/") == 2600);
  CHECK(available("/a/b") == 900);
}

TEST_CASE("this process uses memory") {
  const size_t now = current_resident_bytes();
  CHECK(now > 0);
  CHECK(peak_resident_bytes() >= now);
  CHECK(available_memory_bytes() > 0);
}

// Hexadecimal digits and UTF-8.

TEST_CASE("hexadecimal digits bring bytes back, and what is none is refused") {
  const std::string bytes("\x00\x7f\xff", 3);
  CHECK(hex(bytes.data(), bytes.size()) == "007fff");
  CHECK(hex(uint64_t{0x0123456789abcdef}) == "0123456789abcdef");
  CHECK(from_hex("007fff") == bytes);
  CHECK(from_hex("") == "");
  for (const char* bad : {"0", "0g", "FF", "00 "}) CHECK(!from_hex(bad));
}

TEST_CASE("every code point comes back from its UTF-8, and no other bytes are taken for one") {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const Utf8Character character = utf8_at(text, 0);
    REQUIRE(character.code == code);
    REQUIRE(character.bytes == static_cast<int>(text.size()));
  }
  for (const std::string bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82z",
                                "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff"}) {
    CHECK(utf8_at(bad, 0).bytes == 0);
    CHECK(utf8_valid_prefix("ab" + bad) == 2);
  }
}

TEST_CASE("what would hide, move or fill is shown, and the rest stays") {
  CHECK(visible("layer 0 / größe, 层 \xf0\x9f\x98\x80") == "layer 0 / größe, 层 \xf0\x9f\x98\x80");
  CHECK(visible("a\x1b[2J\nb\x7f") == "a\\x1b[2J\\nb\\x7f");
  CHECK(visible("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right to left
  CHECK(visible("\xc2\x9b") == "\\xc2\\x9b");           // CSI in one character
  CHECK(visible("\xff\xc0\x80\xe2\x80") == "\\xff\\xc0\\x80\\xe2\\x80");
  CHECK(visible("\xed\xa0\x80\xf4\x90\x80\x80").find('\xed') == std::string::npos);
}

TEST_CASE("a file and the same bytes in memory read alike") {
  const std::string path = path_of("bytes");
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

}  // namespace
}  // namespace psm

// In the place of the C library's: does the same, and notes what was asked for and when.
extern "C" int fsync(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) == 0) {
    psm::synced.push_back({status.st_ino, std::filesystem::exists(psm::path_of("durable/file"))});
  }
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}
