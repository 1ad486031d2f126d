#include "ckks/wire/ciphertext_file.h"

#include "ckks/base/error.h"

namespace psm::wire {

uint64_t ciphertext_payload(const ckks::Context& context, ckks::Level level, bool seeded) {
  const uint64_t polynomial = ckks::packed_bytes(context.ring(), ckks::Basis{level + 1, 0});
  return kCiphertextPrefix + polynomial + (seeded ? sizeof(Seed::bytes) : polynomial);
}

CiphertextWriter::CiphertextWriter(const Destination& destination, const ckks::Context& context,
                                   ckks::Fingerprint fingerprint, const std::string& note)
    : context_(context), writer_(destination, {FileKind::kCiphertexts, context.spec(), fingerprint}) {
  PSM_CHECK(note.size() <= kMaxNoteBytes, note.size());
  writer_.begin(kNoteTag, note.size());
  writer_.write(note.data(), note.size());
  writer_.end();
}

void CiphertextWriter::begin(uint32_t tag, uint64_t length, ckks::Level level, ckks::Scale scale) {
  writer_.begin(tag, length);
  const auto number = static_cast<uint32_t>(level);
  const double value = scale;
  writer_.write(&number, sizeof number), writer_.write(&value, sizeof value);
}

void CiphertextWriter::write(const ckks::Ciphertext& c) {
  begin(kCiphertextTag, ciphertext_payload(context_, c.level(), false), c.level(), c.scale());
  write_polynomial(writer_, c.c[0]);
  write_polynomial(writer_, c.c[1]);
  writer_.end();
}

void CiphertextWriter::write(const ckks::SeededCiphertext& c) {
  const ckks::Level level = level_of(c.c0.basis());
  begin(kSeededCiphertextTag, ciphertext_payload(context_, level, true), level, c.scale);
  writer_.write(c.seed.bytes.data(), sizeof c.seed.bytes);
  write_polynomial(writer_, c.c0);
  writer_.end();
}

}  // namespace psm::wire
