// Files: read with a limit, written whole or not at all, decoded with every length checked.
//
// All functions throw psm::Error that names the file and says what failed. Paths that a user types go through
// resolve_user_path() first, because `bazel run` starts a program in a folder of its own.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace psm {

// A relative path is taken relative to the folder in which the user called Bazel (BUILD_WORKING_DIRECTORY).
std::string resolve_user_path(const std::string& path);

// Reads a whole regular file. Refuses one larger than `max_bytes` before reading it.
std::string read_file(const std::string& path, uint64_t max_bytes);

// Writes to a temporary file next to `path` (PATH.part-NUMBER, drawn at random) and renames it on commit().
// Every file is its owner's alone: prompts, answers and keys say more than their writer thinks. Symbolic
// links are followed and stay. A folder, device, pipe or socket is refused, because a rename would replace it
// by a file. Without commit(), as after an exception, the destructor removes the temporary file and the old
// file at `path` stays. If a process was killed, the next one that writes to `path` removes its temporary
// file. A living writer's file has a lock, on one machine; file systems without locks keep dead files.
// The temporary name is 22 bytes longer, so most file systems take a name of at most 233 bytes.
class AtomicFile {
 public:
  // kSecret: the bytes pass through no buffer that is not wiped.
  enum class Kind { kDefault, kSecret };

  explicit AtomicFile(const std::string& path, Kind kind = Kind::kDefault);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Reads what was written before; refuses bytes that were not written yet.
  void read_back(uint64_t position, void* data, size_t bytes) const;
  // Writes over bytes that were written before.
  void rewrite(uint64_t position, const void* data, size_t bytes);
  uint64_t size() const { return size_; }
  // Flushes to the disk, puts the file in its place, and flushes its name to the disk. If a system cannot
  // flush the name, secret files throw Error and others go on.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  bool must_last_;
  uint64_t size_ = 0;
  std::FILE* file_ = nullptr;
};

// Whether this is the name of a temporary file of AtomicFile.
bool is_unfinished(const std::string& name);

void write_file(const std::string& path, std::string_view content,
                AtomicFile::Kind kind = AtomicFile::Kind::kDefault);

// Throws Error if writing `to` would replace `from`, which `reader` ("the import") reads.
void require_kept(const std::string& from, const std::string& to, const char* reader);

// Throws Error unless files could be written to the folder, which need not exist yet. Creates nothing.
void require_writable_folder(const std::string& path);

}  // namespace psm
