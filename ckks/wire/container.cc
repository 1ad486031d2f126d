#include "ckks/wire/container.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/secrecy.h"
#include "ckks/wire/tables.h"

namespace psm::wire {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'C', 'K', 'K', 'S', '\n'};
// Raised whenever files that exist would be read as something else: frozen_files_test.cc notices.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kEndTag = 0;
constexpr size_t kPiece = size_t{1} << 18;

constexpr size_t kFixedHeader = sizeof kMagic + 4 + 4 + 8 + 8 + 15 * 4 + 4 + 4;

// What stands behind the magic and the version.
template <typename Tables>
void describe(Tables& t, Header& header) {
  auto kind = static_cast<uint32_t>(header.kind), insecure = static_cast<uint32_t>(header.spec.insecure);
  t.number(kind);
  t.number(header.fingerprint.parameters), t.number(header.fingerprint.key);
  for_each_number(header.spec, [&](int& value) { t.number(value); });
  t.number(insecure);
  if (insecure > 1) t.refuse("its header is damaged");
  name(t, header.spec.name);
  header.kind = static_cast<FileKind>(kind), header.spec.insecure = insecure != 0;
}

}  // namespace

const char* name(FileKind kind) {
  constexpr const char* kNames[] = {"something unknown", "a secret key", "a public key", "evaluation keys",
                                    "ciphertexts"};
  return kNames[kind <= FileKind::kCiphertexts ? static_cast<size_t>(kind) : 0];
}

// The tables of the usual way would be read at places that a secret decides.
static uint64_t payload_checksum(FileKind kind, const void* data, size_t bytes, uint64_t seed) {
  return kind == FileKind::kSecretKey ? checksum64_of_secret(data, bytes, seed)
                                      : checksum64(data, bytes, seed);
}

uint64_t container_bytes(const ckks::ParameterSpec& spec) {
  return kFixedHeader + spec.name.size() + 8 + record_bytes(0);
}
uint64_t record_bytes(uint64_t payload) { return 4 + 8 + payload + 8; }

ContainerWriter::ContainerWriter(const Destination& destination, Header header) : kind_(header.kind) {
  PSM_CHECK(header.spec.name.size() <= ckks::kMostSpecName, header.spec.name);
  if (const auto* path = std::get_if<std::string>(&destination)) {
    const bool secret = kind_ == FileKind::kSecretKey;
    file_.emplace(*path, secret ? AtomicFile::Kind::kSecret : AtomicFile::Kind::kDefault);
  } else {
    memory_ = std::get<std::string*>(destination);
    memory_->clear();
  }
  TableWriter tables;
  for (const char c : kMagic) tables.number(c);
  tables.number(kVersion);
  describe(tables, header);
  tables.number(checksum64(tables.bytes().data(), tables.bytes().size()));
  raw(tables.bytes().data(), tables.bytes().size());
}

void ContainerWriter::raw(const void* data, size_t bytes) {
  if (file_) {
    file_->write(data, bytes);
  } else {
    memory_->append(static_cast<const char*>(data), bytes);
  }
}

// What stands before a payload, and begins the checksum.
void ContainerWriter::head(uint32_t tag, uint64_t length) {
  raw(&tag, sizeof tag), raw(&length, sizeof length);
  checksum_ = checksum64(&length, sizeof length, checksum64(&tag, sizeof tag));
}

void ContainerWriter::begin(uint32_t tag, uint64_t length) {
  PSM_CHECK(left_ == 0 && tag != kEndTag, left_, " ", tag);
  head(tag, length);
  left_ = length;
}

void ContainerWriter::write(const void* data, size_t bytes) {
  PSM_CHECK(bytes <= left_, bytes, " ", left_);
  if (kind_ != FileKind::kSecretKey) mark_public(data, bytes);  // others read it
  raw(data, bytes);
  checksum_ = payload_checksum(kind_, data, bytes, checksum_);
  left_ -= bytes;
}

void ContainerWriter::end() {
  PSM_CHECK(left_ == 0, left_);
  raw(&checksum_, sizeof checksum_);
  ++records_;
}

void ContainerWriter::commit() {
  head(kEndTag, records_);
  raw(&checksum_, sizeof checksum_);
  if (file_) file_->commit();
}

ContainerReader::ContainerReader(ByteSource source, FileKind kind) : source_(std::move(source)) {
  std::vector<uint8_t> bytes(kFixedHeader);
  raw(bytes.data(), sizeof kMagic);
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    refuse(message("it is not a file of keys or ciphertexts; expected ", name(kind)));
  }
  raw(bytes.data() + sizeof kMagic, bytes.size() - sizeof kMagic);
  const uint8_t* in = bytes.data() + sizeof kMagic;
  const auto version = get<uint32_t>(in);
  if (version != kVersion) {
    refuse(message("it has format version ", version, ", this program reads version ", kVersion,
                   "; make it anew with this program"));
  }
  in = bytes.data() + kFixedHeader - 4;
  const auto name_length = get<uint32_t>(in);
  if (name_length > ckks::kMostSpecName) refuse("its header is damaged");
  const size_t size = kFixedHeader + name_length;
  bytes.resize(size + kChecksumBytes);
  raw(bytes.data() + kFixedHeader, name_length + kChecksumBytes);
  in = bytes.data() + size;
  if (get<uint64_t>(in) != checksum64(bytes.data(), size)) refuse("its header is damaged (checksum)");
  constexpr size_t kBehindVersion = sizeof kMagic + sizeof kVersion;
  TableReader tables(bytes.data() + kBehindVersion, size - kBehindVersion,
                     message("cannot use ", source_.name(), ": "));
  describe(tables, header_);
  if (header_.kind != kind) refuse(message("it holds ", name(header_.kind), ", expected ", name(kind)));
}

void ContainerReader::refuse(const std::string& why) const {
  throw Error(message("cannot use ", source_.name(), ": ", why));
}

void ContainerReader::raw(void* data, size_t bytes) {
  if (!source_.read(data, bytes)) refuse("it is truncated");
}

bool ContainerReader::next(RecordHeader& record) {
  PSM_CHECK(left_ == 0, left_);
  raw(&record.tag, sizeof record.tag), raw(&record.length, sizeof record.length);
  checksum_ = checksum64(&record.length, sizeof record.length, checksum64(&record.tag, sizeof record.tag));
  if (record.tag != kEndTag) {
    if (source_.left() < kChecksumBytes || record.length > source_.left() - kChecksumBytes)
      refuse("it is truncated");
    left_ = record.length;
    return true;
  }
  if (stored_checksum() != checksum_) refuse("its end is damaged (checksum)");
  if (record.length != records_)
    refuse(message("it should hold ", record.length, " records, found ", records_));
  if (source_.left() > 0) refuse("there is something after its end");
  return false;
}

void ContainerReader::expect_length(const RecordHeader& record, uint64_t expected) {
  if (record.length != expected) {
    refuse(message("a record has ", record.length, " bytes where ", expected, " are expected"));
  }
}

void ContainerReader::read(void* data, size_t bytes) {
  if (bytes > left_) refuse("a record is shorter than what it should hold");
  left_ -= bytes;
  // In pieces that are still in the cache when they are summed.
  for (auto* out = static_cast<uint8_t*>(data); bytes > 0;) {
    const size_t piece = std::min(bytes, kPiece);
    raw(out, piece);
    checksum_ = payload_checksum(header_.kind, out, piece, checksum_);
    out += piece;
    bytes -= piece;
  }
}

void ContainerReader::end() {
  PSM_CHECK(left_ == 0, left_);
  if (stored_checksum() != checksum_) refuse("it is damaged (checksum of a record)");
  ++records_;
}

uint64_t ContainerReader::skip() {
  source_.seek(source_.position() + left_);
  left_ = 0;
  ++records_;
  return stored_checksum();
}

uint64_t ContainerReader::stored_checksum() {
  uint64_t stored;
  raw(&stored, sizeof stored);
  return stored;
}

void ContainerReader::seek(uint64_t position) {
  source_.seek(position);
  left_ = 0;
}

std::unique_ptr<const ckks::Context> read_context(ByteSource source, FileKind kind) {
  const ContainerReader reader(std::move(source), kind);
  auto context = std::make_unique<const ckks::Context>(reader.header().spec);
  require_parameters(reader, *context);
  return context;
}

void require_parameters(const ContainerReader& reader, const ckks::Context& context) {
  if (reader.header().fingerprint.parameters != context.fingerprint()) {
    reader.refuse("it was made for other parameters; use files of one key generation, for this program");
  }
}

void write_polynomial(ContainerWriter& writer, const ckks::PackedPoly& poly) {
  writer.write(poly.limb(0), poly.bytes());
}

void write_polynomial(ContainerWriter& writer, const ckks::RnsPoly& poly) {
  write_polynomial(writer, ckks::PackedPoly(poly));
}

ckks::PackedPoly read_packed_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  ckks::PackedPoly poly =
      ckks::PackedPoly::read(ring, basis, [&](uint8_t* bytes, size_t count) { reader.read(bytes, count); });
  if (!poly.in_range()) reader.refuse("it is damaged (a residue is not below its prime)");
  return poly;
}

ckks::RnsPoly read_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  return read_packed_polynomial(reader, ring, basis).unpack();
}

}  // namespace psm::wire
