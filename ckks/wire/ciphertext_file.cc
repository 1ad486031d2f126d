#include "ckks/wire/ciphertext_file.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/wire/bytes.h"
#include "ckks/wire/polynomial.h"

namespace psm::wire {
namespace {

enum Tag : uint32_t { kNote = 1, kCiphertext = 2, kSeededCiphertext = 3 };

constexpr uint64_t kPrefixBytes = 4 + 8;  // level, scale

uint64_t payload_bytes(const Context& context, int level) {
  return kPrefixBytes + 2 * packed_bytes(context.ring(), Basis{level + 1, 0});
}

uint64_t seeded_payload_bytes(const Context& context, int level) {
  return kPrefixBytes + sizeof(Seed::bytes) + packed_bytes(context.ring(), Basis{level + 1, 0});
}

void write_prefix(ContainerWriter& writer, int level, Scale scale) {
  std::vector<uint8_t> bytes;
  put(bytes, static_cast<uint32_t>(level));
  put(bytes, double{scale});
  writer.write(bytes.data(), bytes.size());
}

void read_prefix(ContainerReader& reader, const Context& context, int& level, Scale& scale) {
  uint8_t bytes[kPrefixBytes];
  reader.read(bytes, kPrefixBytes);
  const uint8_t* in = bytes;
  const auto level_bits = get<uint32_t>(in);
  if (level_bits > static_cast<uint32_t>(context.max_level()))
    reader.refuse("a ciphertext's level does not exist");
  level = static_cast<int>(level_bits);
  scale = Scale(get<double>(in));
  if (!(scale >= 1) || !std::isfinite(scale)) reader.refuse("a ciphertext's scale is impossible");
}

void write_note(ContainerWriter& writer, const std::string& note) {
  PSM_CHECK(note.size() <= kMaxNoteBytes, note.size());
  writer.begin(kNote, note.size());
  writer.write(note.data(), note.size());
  writer.end();
}

}  // namespace

uint64_t ciphertext_bytes(const Context& context, int level) {
  return record_bytes(payload_bytes(context, level));
}
uint64_t seeded_ciphertext_bytes(const Context& context, int level) {
  return record_bytes(seeded_payload_bytes(context, level));
}

void write_ciphertexts(const std::string& path, const Context& context, const CiphertextFile& file) {
  ContainerWriter writer(path, {FileKind::kCiphertexts, context.spec(), file.fingerprint});
  write_note(writer, file.note);
  for (const Ciphertext& c : file.ciphertexts) {
    writer.begin(kCiphertext, payload_bytes(context, c.level()));
    write_prefix(writer, c.level(), c.scale());
    write_polynomial(writer, c.c[0]);
    write_polynomial(writer, c.c[1]);
    writer.end();
  }
  writer.commit();
}

void write_seeded_ciphertexts(const std::string& path, const Context& context, const std::string& note,
                              const std::vector<SeededCiphertext>& ciphertexts) {
  PSM_CHECK(!ciphertexts.empty());
  ContainerWriter writer(path, {FileKind::kCiphertexts, context.spec(), ciphertexts[0].fingerprint});
  write_note(writer, note);
  for (const SeededCiphertext& c : ciphertexts) {
    writer.begin(kSeededCiphertext, seeded_payload_bytes(context, c.c0.basis().q - 1));
    write_prefix(writer, c.c0.basis().q - 1, c.scale);
    writer.write(c.seed.bytes.data(), sizeof c.seed.bytes);
    write_polynomial(writer, c.c0);
    writer.end();
  }
  writer.commit();
}

CiphertextFile read_ciphertexts(ByteSource source, const Context& context, size_t max_count) {
  ContainerReader reader(std::move(source), FileKind::kCiphertexts);
  require_parameters(reader, context);
  CiphertextFile file;
  file.fingerprint = reader.header().fingerprint;
  RecordHeader record;
  if (!reader.next(record) || record.tag != kNote) reader.refuse("it does not say what it holds");
  if (record.length > kMaxNoteBytes) reader.refuse("its note is too long");
  file.note.resize(record.length);
  reader.read(file.note.data(), file.note.size());
  reader.end();
  while (reader.next(record)) {
    if (file.ciphertexts.size() == max_count)
      reader.refuse(message("it holds more than ", max_count, " ciphertexts"));
    if (record.tag != kCiphertext && record.tag != kSeededCiphertext)
      reader.refuse("it holds an unknown record");
    int level = 0;
    Scale scale;
    if (record.length < kPrefixBytes) reader.refuse("a ciphertext record is too short");
    read_prefix(reader, context, level, scale);
    const Basis basis{level + 1, 0};
    if (record.tag == kCiphertext) {
      reader.expect_length(record, payload_bytes(context, level));
      RnsPoly c0 = read_polynomial(reader, context.ring(), basis);
      RnsPoly c1 = read_polynomial(reader, context.ring(), basis);
      file.ciphertexts.push_back({{std::move(c0), std::move(c1)}, scale, file.fingerprint});
    } else {
      SeededCiphertext c;
      reader.expect_length(record, seeded_payload_bytes(context, level));
      reader.read(c.seed.bytes.data(), sizeof c.seed.bytes);
      c.c0 = read_polynomial(reader, context.ring(), basis);
      c.scale = scale;
      c.fingerprint = file.fingerprint;
      file.ciphertexts.push_back(expand(std::move(c)));
    }
    reader.end();
  }
  return file;
}

}  // namespace psm::wire
