// The container of every file of keys and ciphertexts: a header, records, an end record. Byte by byte in
// FORMATS.md.
//
// The header binds the file to its kind, its parameters (in full, so that a reader can rebuild the Context)
// and its key pair. A record is {tag, length, payload, checksum}; a reader states the length it expects
// before a byte of the payload is read, so no length from a file is ever trusted with memory, and one that
// the file does not hold is refused. The end record holds the count of records: without it a file is
// truncated. Checksums find accidents; they do not authenticate (ckks/SECURITY.md).
//
// Records can be skipped and come back to, so that a file may be larger than memory.
//
// Every refusal is psm::Error and names the file. Files are written whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/file.h"
#include "ckks/scheme/chain/parameters.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::wire {

enum class FileKind : uint32_t { kSecretKey = 1, kPublicKey = 2, kEvaluationKeys = 3, kCiphertexts = 4 };
const char* name(FileKind kind);

struct Header {
  FileKind kind{};
  ckks::ParameterSpec spec;
  ckks::Fingerprint fingerprint;
};

struct RecordHeader {
  uint32_t tag = 0;  // what it is: the kinds' own enumerations, from 1
  uint64_t length = 0;
};

// A file's bytes: those of its header and end record, and those of each record.
uint64_t container_bytes(const ckks::ParameterSpec& spec);
uint64_t record_bytes(uint64_t payload);

class ContainerWriter {
 public:
  // `secret`: readable by its owner only.
  ContainerWriter(const std::string& path, const Header& header, bool secret = false);
  // Into memory, which outlives it, for a pipe.
  ContainerWriter(std::string* memory, const Header& header);

  // One record in pieces: begin, write ... write, end. The pieces must add up to the length.
  void begin(uint32_t tag, uint64_t length);
  void write(const void* data, size_t bytes);
  void end();

  // Writes the end record and puts the file in its place.
  void commit();
  uint64_t bytes_written() const { return bytes_; }

 private:
  void begin_container(const Header& header);
  void raw(const void* data, size_t bytes);

  std::optional<AtomicFile> file_;
  std::string* memory_ = nullptr;
  FileKind kind_;
  uint64_t records_ = 0, bytes_ = 0, left_ = 0, checksum_ = 0;
};

class ContainerReader {
 public:
  // Throws unless the file is a container of this kind with an intact header.
  ContainerReader(ByteSource source, FileKind kind);

  const Header& header() const { return header_; }

  // The next record, or nothing after the last one (whose end record has then been verified).
  bool next(RecordHeader& record);
  // Refuses a record whose length is not `expected`; to be called before anything is sized by it.
  void expect_length(const RecordHeader& record, uint64_t expected);
  void read(void* data, size_t bytes);
  // Verifies the checksum of the record that was read in full.
  void end();
  // Passes over what is left of a record; its checksum is returned as it is stored, and not verified.
  uint64_t skip();
  // Where the next record begins, and the way back to it, also from the middle of a record that was refused.
  uint64_t position() const { return source_.position(); }
  void seek(uint64_t position);

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  void raw(void* data, size_t bytes);
  uint64_t stored_checksum();

  static constexpr uint64_t kChecksumBytes = 8;
  ByteSource source_;
  Header header_;
  uint64_t records_ = 0, left_ = 0, checksum_ = 0;
};

}  // namespace psm::wire
