// Files: read with a limit, written whole or not at all, decoded with every length checked.
//
// All functions throw psm::Error that names the file and says what failed. Paths that a user types go through
// resolve_user_path() first: `bazel run` starts a program elsewhere than where its user stands.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace psm {

// A relative path is taken relative to the folder in which the user called Bazel (BUILD_WORKING_DIRECTORY).
std::string resolve_user_path(const std::string& path);

// The whole file, a regular one; refuses one that is larger than `max_bytes` before it is read.
std::string read_file(const std::string& path, uint64_t max_bytes);

// Writes to a temporary file next to `path` (PATH.part-NUMBER, drawn at random) and renames it on commit().
// Every file is its owner's alone: prompts, answers and keys say more than their writer thinks. Symbolic
// links are followed and stay. A folder, device, pipe or socket is refused, for a rename would put a file in
// its place. Destroyed without commit() (an exception), it removes the temporary file. One that a killed
// process left behind goes when the next process writes to `path`: a living writer holds a lock on its own
// (on one machine; file systems without locks keep such files). What stood at `path` stays either way.
class AtomicFile {
 public:
  // Secrets, and records of what was spent, pass through no buffer that nobody wipes.
  enum class Kind { kDefault, kSecret };

  explicit AtomicFile(const std::string& path, Kind kind = Kind::kDefault);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // What was written before; bytes that were not written yet are refused.
  void read_back(uint64_t position, void* data, size_t bytes) const;
  // Over bytes that were written before.
  void rewrite(uint64_t position, const void* data, size_t bytes);
  uint64_t size() const { return size_; }
  // Flushes to the disk, puts the file in its place, and flushes its name to the disk. Where a system cannot
  // do the last, secret files throw Error; others are as lasting as it makes them.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  bool must_last_;
  uint64_t size_ = 0;
  std::FILE* file_ = nullptr;
};

// Whether a file of this name is one that a writer has not put in its place.
bool is_unfinished(const std::string& name);

void write_file(const std::string& path, std::string_view content);

// Throws Error unless files could be written to the folder, which need not be there yet. Makes nothing.
void require_writable_folder(const std::string& path);

}  // namespace psm
