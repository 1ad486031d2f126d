// The constants of a program's file: weights, masks and other vectors that the server knows.
//
// A constant is one period of slots, stored as a list of runs: stretches of slots with values, cut at
// multiples of kRunSlots. Slots in no run are zero. A real entry takes 4 bytes, a complex one 8. Constants of
// at most kWide slots take twice as much, and so do values that a float cannot hold. Equal runs are stored
// once, so masks of different lengths share their common part. Equal constants have one entry in the table.
//
// Bytes are in the order of their first use in the program, little-endian. Every kPageBytes of them have a SHA-256, which
// is verified when the first of them is read. A value that is not finite is refused.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ckks/base/files/file.h"
#include "ckks/base/random/sha256.h"
#include "ckks/linalg/plain.h"
#include "ckks/program/program.h"
#include "ckks/wire/tables.h"

namespace psm::program {

constexpr size_t kRunSlots = 256;                     // the longest run
constexpr size_t kWide = 8;                           // the longest period whose entries are doubles
constexpr int kMostLog2Period = 16;                   // slots of the largest ring
constexpr size_t kPageBytes = size_t{1} << 14;        // that have a checksum
constexpr uint64_t kMostMapped = uint64_t{16} << 20;  // bytes that are read before their pages are given back

struct ConstantRun {
  uint64_t place = 0;  // of its first byte in the section
  uint32_t first = 0;  // slot
  uint32_t count = 0;  // slots
  bool operator==(const ConstantRun&) const = default;
};

struct Constant {
  uint32_t first_run = 0, runs = 0;
  float mean_square = 0;
  uint8_t log2_period = 0;
  bool real = true, wide = false;

  size_t period() const { return size_t{1} << log2_period; }
  size_t entry_bytes() const { return (wide ? 8 : 4) * (real ? 1 : 2); }
};

// The base of writers and readers of constants.
class ConstantTable : public ckks::PlainStore, public std::enable_shared_from_this<ConstantTable> {
 public:
  ckks::Plain plain(uint32_t index) const;
  size_t size() const { return constants_.size(); }
  // Returns the index of this vector. Throws Error if it belongs to another table.
  uint32_t index_of(const ckks::Plain&) const;
  uint64_t bytes(uint32_t index) const;  // that its runs have, shared ones too

  void read(uint32_t index, std::span<ckks::Complex> one_period) const override;
  double mean_square(uint32_t index) const override { return constants_[index].mean_square; }
  size_t entries(uint32_t index) const override { return bytes(index) / constants_[index].entry_bytes(); }

 protected:
  // Returns the bytes of a run: in place, or copied to `scratch`, which has room for them.
  virtual const uint8_t* bytes_of(const ConstantRun&, size_t bytes, uint8_t* scratch) const = 0;

  std::vector<Sha256::Digest> pages_;
  std::vector<Constant> constants_;
  std::vector<ConstantRun> runs_;
};

// Appends constants to a file that is being written. Each vector is written when it is kept; only its entry
// in the table stays in memory.
class ConstantWriter final : public ConstantTable, public PlainKeeper {
 public:
  // The section begins where the file ends now. The file must live until write().
  explicit ConstantWriter(AtomicFile& file) : file_(&file), begin_(file.size()) {}

  ckks::Plain keep(const ckks::Plain&) override;
  uint64_t section_bytes() const { return bytes_; }
  void write(wire::TableWriter&);  // the last call: no vector can be kept or read afterwards

 private:
  uint32_t index_of_values(std::span<const ckks::Complex> values);
  ConstantRun run_of(const std::vector<uint8_t>& bytes, size_t first, size_t count);
  void append(const uint8_t* bytes, size_t size);
  const uint8_t* bytes_of(const ConstantRun&, size_t bytes, uint8_t* scratch) const override;

  AtomicFile* file_;  // null after write()
  const uint64_t begin_;
  uint64_t bytes_ = 0;
  Sha256 page_;                                                              // of the page that is not full
  std::unordered_multimap<uint64_t, std::pair<uint64_t, uint32_t>> places_;  // by checksum: place, bytes
  std::unordered_multimap<uint64_t, uint32_t> known_;                        // by checksum of the entry
};

// A file mapped into the process's memory; pages come from the disk when they are read.
class MappedFile {
 public:
  // Throws Error if it cannot be read or is empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  // Throws Error, which begins with `name`, if the file was written to or cut: reading what is gone would end the
  // process.
  void require_unchanged(const std::string& name) const;
  // Takes all pages out of the process's memory. They come back when they are read.
  void give_back() const;

 private:
  int descriptor_;
  struct timespec written_;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

// The constants of a file that is mapped.
class MappedConstants final : public ConstantTable {
 public:
  // The section is [begin, begin + bytes) of the file. Throws Error, which begins with `name`, if the table
  // does not fit this section.
  MappedConstants(std::shared_ptr<const MappedFile> file, uint64_t begin, uint64_t bytes,
                  wire::TableReader& table, std::string name);
  // Throws Error if the file was changed before or meanwhile. Gives all pages back each time
  // kMostMapped bytes were read.
  void read(uint32_t index, std::span<ckks::Complex> one_period) const override;

 private:
  const uint8_t* bytes_of(const ConstantRun&, size_t bytes, uint8_t* scratch) const override;
  void check(size_t page) const;

  std::shared_ptr<const MappedFile> file_;
  uint64_t begin_, bytes_;
  std::string name_;
  std::unique_ptr<std::atomic<bool>[]> checked_;  // of each page
  mutable std::atomic<uint64_t> read_bytes_ = 0;
};

}  // namespace psm::program
