// Where a decoder reads from: a file, or bytes that are in memory already. Decoders take a ByteSource, so
// that a path serves them directly and a test can hand them a million inputs without a file system.
//
// A source knows its size, so a decoder can refuse a length beyond it before it reserves memory. Files must
// be regular ones. Nothing is buffered: a secret passes through no memory that nobody wipes, and a change of a file is
// seen.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace psm {

class ByteSource {
 public:
  // A file; throws Error if it cannot be read.
  ByteSource(const std::string& path);
  ByteSource(const char* path) : ByteSource(std::string(path)) {}
  // Bytes in memory, which must outlive the source. Messages call them `name`.
  ByteSource(std::string name, std::string_view bytes);

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  uint64_t position() const { return position_; }
  uint64_t left() const { return size_ - position_; }
  // Whether anybody but its owner may read, write or run the file; bytes in memory are nobody else's.
  bool open_to_others() const { return open_to_others_; }

  // False if fewer bytes are left; throws Error if the system cannot read them.
  [[nodiscard]] bool read(void* data, size_t bytes);
  // To a position of at most size().
  void seek(uint64_t position);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string name_;
  std::unique_ptr<std::FILE, Closer> file_;  // null: in memory
  std::string_view bytes_;
  uint64_t size_ = 0, position_ = 0;
  bool open_to_others_ = false;
};

}  // namespace psm
