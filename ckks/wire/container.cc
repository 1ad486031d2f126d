#include "ckks/wire/container.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/wire/bytes.h"

namespace psm::wire {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'C', 'K', 'K', 'S', '\n'};
// Raised whenever files that exist would be read as something else: frozen_files_test.cc notices.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kEndTag = 0;
constexpr size_t kMaxNameLength = 64;
constexpr size_t kPiece = size_t{1} << 18;

// The specification's numbers, in the order of FORMATS.md.
template <typename Spec, typename Function>
void for_each_number(Spec& spec, Function&& f) {
  f(spec.log_n), f(spec.q0_bits);
  f(spec.stc_levels), f(spec.stc_bits), f(spec.compute_levels), f(spec.compute_bits);
  f(spec.evalmod_levels), f(spec.evalmod_bits), f(spec.cts_levels), f(spec.cts_bits);
  f(spec.p_count), f(spec.p_bits), f(spec.log_scale);
  f(spec.secret_hamming_weight), f(spec.encapsulation_hamming_weight);
}

constexpr size_t kFixedHeader = sizeof kMagic + 4 + 4 + 8 + 8 + 15 * 4 + 4 + 4;

std::vector<uint8_t> encode(const Header& header) {
  PSM_CHECK(header.spec.name.size() <= kMaxNameLength, header.spec.name);
  std::vector<uint8_t> out(kMagic, kMagic + sizeof kMagic);
  put(out, kVersion);
  put(out, static_cast<uint32_t>(header.kind));
  put(out, header.fingerprint.parameters);
  put(out, header.fingerprint.key);
  for_each_number(header.spec, [&](int value) { put(out, static_cast<int32_t>(value)); });
  put(out, static_cast<uint32_t>(header.spec.insecure));
  put(out, static_cast<uint32_t>(header.spec.name.size()));
  PSM_CHECK(out.size() == kFixedHeader, out.size());
  out.insert(out.end(), header.spec.name.begin(), header.spec.name.end());
  return out;
}

}  // namespace

const char* name(FileKind kind) {
  switch (kind) {
    case FileKind::kSecretKey:
      return "a secret key";
    case FileKind::kPublicKey:
      return "a public key";
    case FileKind::kEvaluationKeys:
      return "evaluation keys";
    case FileKind::kCiphertexts:
      return "ciphertexts";
  }
  return "something unknown";
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

ContainerWriter::ContainerWriter(const std::string& path, const Header& header, bool secret)
    : kind_(header.kind) {
  file_.emplace(path, secret ? AtomicFile::Kind::kSecret : AtomicFile::Kind::kDefault);
  begin_container(header);
}

ContainerWriter::ContainerWriter(std::string* memory, const Header& header)
    : memory_(memory), kind_(header.kind) {
  memory_->clear();
  begin_container(header);
}

void ContainerWriter::begin_container(const Header& header) {
  std::vector<uint8_t> bytes = encode(header);
  put(bytes, checksum64(bytes.data(), bytes.size()));
  raw(bytes.data(), bytes.size());
}

void ContainerWriter::raw(const void* data, size_t bytes) {
  if (file_) {
    file_->write(data, bytes);
  } else {
    memory_->append(static_cast<const char*>(data), bytes);
  }
  bytes_ += bytes;
}

void ContainerWriter::begin(uint32_t tag, uint64_t length) {
  PSM_CHECK(left_ == 0 && tag != kEndTag, left_, " ", tag);
  std::vector<uint8_t> bytes;
  put(bytes, tag);
  put(bytes, length);
  raw(bytes.data(), bytes.size());
  checksum_ = checksum64(bytes.data(), bytes.size());
  left_ = length;
}

void ContainerWriter::write(const void* data, size_t bytes) {
  PSM_CHECK(bytes <= left_, bytes, " ", left_);
  raw(data, bytes);
  checksum_ = payload_checksum(kind_, data, bytes, checksum_);
  left_ -= bytes;
}

void ContainerWriter::end() {
  PSM_CHECK(left_ == 0, left_);
  std::vector<uint8_t> bytes;
  put(bytes, checksum_);
  raw(bytes.data(), bytes.size());
  ++records_;
}

void ContainerWriter::commit() {
  std::vector<uint8_t> bytes;
  put(bytes, kEndTag);
  put(bytes, records_);
  put(bytes, checksum64(bytes.data(), bytes.size()));
  raw(bytes.data(), bytes.size());
  if (file_) file_->commit();
}

ContainerReader::ContainerReader(ByteSource source, FileKind kind) : source_(std::move(source)) {
  // A secret passes through no buffer that nobody wipes.
  if (kind == FileKind::kSecretKey) source_.set_unbuffered();
  std::array<uint8_t, kFixedHeader> fixed;
  raw(fixed.data(), sizeof kMagic);
  if (std::memcmp(fixed.data(), kMagic, sizeof kMagic) != 0) {
    refuse(message("it is not a file of keys or ciphertexts; expected ", name(kind)));
  }
  raw(fixed.data() + sizeof kMagic, fixed.size() - sizeof kMagic);
  const uint8_t* in = fixed.data() + sizeof kMagic;
  const auto version = get<uint32_t>(in);
  if (version != kVersion) {
    refuse(message("it has format version ", version, ", this program reads version ", kVersion,
                   "; make it anew with this program"));
  }
  header_.kind = static_cast<FileKind>(get<uint32_t>(in));
  header_.fingerprint.parameters = get<uint64_t>(in);
  header_.fingerprint.key = get<uint64_t>(in);
  for_each_number(header_.spec, [&](int& value) { value = get<int32_t>(in); });
  const auto insecure = get<uint32_t>(in);
  header_.spec.insecure = insecure != 0;
  const auto name_length = get<uint32_t>(in);
  if (insecure > 1 || name_length > kMaxNameLength) refuse("its header is damaged");
  std::vector<uint8_t> whole(fixed.begin(), fixed.end());
  whole.resize(kFixedHeader + name_length + 8);
  raw(whole.data() + kFixedHeader, name_length + 8);
  const uint8_t* checksum = whole.data() + kFixedHeader + name_length;
  if (get<uint64_t>(checksum) != checksum64(whole.data(), kFixedHeader + name_length)) {
    refuse("its header is damaged (checksum)");
  }
  header_.spec.name.assign(whole.begin() + kFixedHeader, whole.begin() + kFixedHeader + name_length);
  for (const char c : header_.spec.name) {
    if (c < 0x20 || c > 0x7e) refuse("its header is damaged (the name of its parameters is not printable)");
  }
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
  std::array<uint8_t, 12> bytes;
  raw(bytes.data(), bytes.size());
  checksum_ = checksum64(bytes.data(), bytes.size());
  const uint8_t* in = bytes.data();
  record.tag = get<uint32_t>(in);
  record.length = get<uint64_t>(in);
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
  std::array<uint8_t, kChecksumBytes> stored;
  raw(stored.data(), stored.size());
  const uint8_t* in = stored.data();
  return get<uint64_t>(in);
}

void ContainerReader::seek(uint64_t position) {
  source_.seek(position);
  left_ = 0;
}

}  // namespace psm::wire
