#include "ckks/wire/ciphertext_file.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/wire/bytes.h"
#include "ckks/wire/polynomial.h"

namespace psm::wire {
namespace {

enum Tag : uint32_t { kNote = 1, kCiphertext = 2, kSeededCiphertext = 3 };

constexpr uint64_t kPrefixBytes = 4 + 8;  // level, scale

uint64_t payload_bytes(const ckks::Context& context, ckks::Level level) {
  return kPrefixBytes + 2 * ckks::packed_bytes(context.ring(), ckks::Basis{level + 1, 0});
}

uint64_t seeded_payload_bytes(const ckks::Context& context, ckks::Level level) {
  return kPrefixBytes + sizeof(Seed::bytes) + ckks::packed_bytes(context.ring(), ckks::Basis{level + 1, 0});
}

void read_prefix(ContainerReader& reader, const ckks::Context& context, ckks::Level& level,
                 ckks::Scale& scale) {
  uint8_t bytes[kPrefixBytes];
  reader.read(bytes, kPrefixBytes);
  const uint8_t* in = bytes;
  const auto level_bits = get<uint32_t>(in);
  if (level_bits > static_cast<uint32_t>(context.max_level()))
    reader.refuse("a ciphertext's level does not exist");
  level = ckks::Level::at(static_cast<int>(level_bits));
  scale = ckks::Scale(get<double>(in));
  if (!(scale >= 1) || !std::isfinite(scale)) reader.refuse("a ciphertext's scale is impossible");
}

}  // namespace

uint64_t ciphertext_bytes(const ckks::Context& context, ckks::Level level) {
  return record_bytes(payload_bytes(context, level));
}
uint64_t seeded_ciphertext_bytes(const ckks::Context& context, ckks::Level level) {
  return record_bytes(seeded_payload_bytes(context, level));
}

CiphertextWriter::CiphertextWriter(const std::string& path, const ckks::Context& context,
                                   ckks::Fingerprint fingerprint, const std::string& note)
    : context_(context), writer_(path, {FileKind::kCiphertexts, context.spec(), fingerprint}) {
  write_note(note);
}

CiphertextWriter::CiphertextWriter(std::string* memory, const ckks::Context& context,
                                   ckks::Fingerprint fingerprint, const std::string& note)
    : context_(context), writer_(memory, {FileKind::kCiphertexts, context.spec(), fingerprint}) {
  write_note(note);
}

void CiphertextWriter::write_note(const std::string& note) {
  PSM_CHECK(note.size() <= kMaxNoteBytes, note.size());
  writer_.begin(kNote, note.size());
  writer_.write(note.data(), note.size());
  writer_.end();
}

void CiphertextWriter::begin(uint32_t tag, uint64_t length, ckks::Level level, ckks::Scale scale) {
  writer_.begin(tag, length);
  std::vector<uint8_t> prefix;
  put(prefix, static_cast<uint32_t>(level));
  put(prefix, double{scale});
  writer_.write(prefix.data(), prefix.size());
}

void CiphertextWriter::write(const ckks::Ciphertext& c) {
  begin(kCiphertext, payload_bytes(context_, c.level()), c.level(), c.scale());
  write_polynomial(writer_, c.c[0]);
  write_polynomial(writer_, c.c[1]);
  writer_.end();
}

void CiphertextWriter::write(const ckks::SeededCiphertext& c) {
  const ckks::Level level = level_of(c.c0.basis());
  begin(kSeededCiphertext, seeded_payload_bytes(context_, level), level, c.scale);
  writer_.write(c.seed.bytes.data(), sizeof c.seed.bytes);
  write_polynomial(writer_, c.c0);
  writer_.end();
}

CiphertextReader::CiphertextReader(ByteSource source, const ckks::Context& context, size_t max_count)
    : context_(context), reader_(std::move(source), FileKind::kCiphertexts) {
  require_parameters(reader_, context);
  RecordHeader record;
  if (!reader_.next(record) || record.tag != kNote) reader_.refuse("it does not say what it holds");
  if (record.length > kMaxNoteBytes) reader_.refuse("its note is too long");
  note_.resize(record.length);
  reader_.read(note_.data(), note_.size());
  reader_.end();
  checksum_ = checksum64(note_.data(), note_.size());
  for (Head head; next(head, record);) {
    if (heads_.size() == max_count) reader_.refuse(message("it holds more than ", max_count, " ciphertexts"));
    heads_.push_back(head);
    const uint64_t stored = reader_.skip();
    checksum_ = checksum64(&stored, sizeof stored, checksum_);
  }
}

bool CiphertextReader::next(Head& head, RecordHeader& record) {
  head.position = reader_.position();
  if (!reader_.next(record)) return false;
  if (record.tag != kCiphertext && record.tag != kSeededCiphertext)
    reader_.refuse("it holds an unknown record");
  if (record.length < kPrefixBytes) reader_.refuse("a ciphertext record is too short");
  read_prefix(reader_, context_, head.level, head.scale);
  head.seeded = record.tag == kSeededCiphertext;
  reader_.expect_length(
      record, head.seeded ? seeded_payload_bytes(context_, head.level) : payload_bytes(context_, head.level));
  return true;
}

ckks::Ciphertext CiphertextReader::load(size_t index) {
  const Head& expected = heads_.at(index);
  reader_.seek(expected.position);
  Head head;
  RecordHeader record;
  // Checked again: the file may have changed since it was opened.
  if (!next(head, record) || head.level != expected.level || head.scale != expected.scale ||
      head.seeded != expected.seeded) {
    reader_.refuse("it changed while it was read");
  }
  const ckks::Basis basis{head.level + 1, 0};
  if (head.seeded) {
    ckks::SeededCiphertext c;
    reader_.read(c.seed.bytes.data(), sizeof c.seed.bytes);
    c.c0 = read_polynomial(reader_, context_.ring(), basis);
    c.scale = head.scale;
    c.fingerprint = fingerprint();
    reader_.end();
    return ckks::expand(std::move(c));
  }
  ckks::RnsPoly c0 = read_polynomial(reader_, context_.ring(), basis);
  ckks::RnsPoly c1 = read_polynomial(reader_, context_.ring(), basis);
  reader_.end();
  return {{std::move(c0), std::move(c1)}, head.scale, fingerprint()};
}

void write_ciphertexts(const std::string& path, const ckks::Context& context, const CiphertextFile& file) {
  CiphertextWriter writer(path, context, file.fingerprint, file.note);
  for (const ckks::Ciphertext& c : file.ciphertexts) writer.write(c);
  writer.commit();
}

CiphertextFile read_ciphertexts(ByteSource source, const ckks::Context& context, size_t max_count) {
  CiphertextReader reader(std::move(source), context, max_count);
  CiphertextFile file{reader.note(), {}, reader.fingerprint()};
  for (size_t i = 0; i < reader.heads().size(); ++i) file.ciphertexts.push_back(reader.load(i));
  return file;
}

}  // namespace psm::wire
