// The container of every file of keys and ciphertexts: a header, records, an end record. Byte by byte in FORMATS.md.
//
// The header binds the file to its kind, its parameters (in full, so that a reader can rebuild the Context)
// and its key pair. A record is {tag, length, payload, checksum}. A reader states the length that it expects
// before it reads the payload, so a length from a file never decides how much memory is reserved. A length
// beyond the end of the file is refused. The end record has the number of records; a file without it is
// truncated. Checksums find accidents; they do not authenticate (ckks/SECURITY.md).
//
// Records can be skipped and read later, so a file may be larger than memory.
//
// Every refusal is psm::Error and names the file. Files are written whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/file.h"
#include "ckks/ring/packed_poly.h"
#include "ckks/scheme/chain/context.h"
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

// The bytes of a file's header and end record, and the bytes around the payload of a record.
uint64_t container_bytes(const ckks::ParameterSpec& spec);
uint64_t record_bytes(uint64_t payload);

// The path of a file, or memory for a pipe, which must outlive the writer.
using Destination = std::variant<std::string, std::string*>;

class ContainerWriter {
 public:
  ContainerWriter(const Destination& destination, Header header);

  // One record in pieces: begin, write ... write, end. The pieces must add up to the length.
  void begin(uint32_t tag, uint64_t length);
  void write(const void* data, size_t bytes);
  void end();

  // Writes the end record and puts the file in its place.
  void commit();

 private:
  void raw(const void* data, size_t bytes);
  void head(uint32_t tag, uint64_t length);

  std::optional<AtomicFile> file_;
  std::string* memory_ = nullptr;
  FileKind kind_;
  uint64_t records_ = 0, left_ = 0, checksum_ = 0;
};

class ContainerReader {
 public:
  // Throws unless the file is a container of this kind with an intact header.
  ContainerReader(ByteSource source, FileKind kind);

  const Header& header() const { return header_; }

  // Reads the head of the next record. Returns false after the last one; the end record has then been verified.
  bool next(RecordHeader& record);
  // Refuses a record whose length is not `expected`. Call it before reserving memory of that size.
  void expect_length(const RecordHeader& record, uint64_t expected);
  void read(void* data, size_t bytes);
  // Verifies the checksum of the record that was read in full.
  void end();
  // Skips the rest of a record. Returns its checksum as stored, not verified.
  uint64_t skip();
  // The position of the next record, and a way back to it, also from the middle of a refused record.
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

// Reads the header alone, validates its specification (security bounds included) and builds its Context. Refuses a file
// whose numbers do not give the fingerprint in its header.
std::unique_ptr<const ckks::Context> read_context(ByteSource source, FileKind kind);
// Refuses a file of other parameters.
void require_parameters(const ContainerReader& reader, const ckks::Context& context);

// Polynomials inside a record: limb after limb, residues bit-packed (ckks/ring/arithmetic/packing.h).

void write_polynomial(ContainerWriter& writer, const ckks::RnsPoly& poly);
void write_polynomial(ContainerWriter& writer, const ckks::PackedPoly& poly);

// An NTT-form polynomial over `basis`; refuses residues that are out of range.
ckks::PackedPoly read_packed_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis);
ckks::RnsPoly read_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis);

}  // namespace psm::wire
