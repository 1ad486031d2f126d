#include "ckks/wire/ciphertext_reader.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"

namespace psm::wire {

CiphertextReader::CiphertextReader(ByteSource source, const ckks::Context& context, size_t max_count)
    : context_(context), reader_(std::move(source), FileKind::kCiphertexts) {
  require_parameters(reader_, context);
  RecordHeader record;
  if (!reader_.next(record) || record.tag != kNoteTag) reader_.refuse("it does not say what it holds");
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
  if (record.tag != kCiphertextTag && record.tag != kSeededCiphertextTag)
    reader_.refuse("it holds an unknown record");
  if (record.length < kCiphertextPrefix) reader_.refuse("a ciphertext record is too short");
  uint32_t level;
  double scale;
  reader_.read(&level, sizeof level), reader_.read(&scale, sizeof scale);
  if (level > static_cast<uint32_t>(context_.max_level()))
    reader_.refuse("a ciphertext's level does not exist");
  head.level = ckks::Level::at(static_cast<int>(level));
  head.scale = ckks::Scale(scale);
  if (!(head.scale >= 1) || !std::isfinite(head.scale)) reader_.refuse("a ciphertext's scale is impossible");
  head.seeded = record.tag == kSeededCiphertextTag;
  reader_.expect_length(record, ciphertext_payload(context_, head.level, head.seeded));
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
    Seed seed;
    reader_.read(seed.bytes.data(), sizeof seed.bytes);
    ckks::RnsPoly c0 = read_polynomial(reader_, context_.ring(), basis);
    reader_.end();
    return ckks::expand({seed, std::move(c0), head.scale, fingerprint()});
  }
  ckks::RnsPoly c0 = read_polynomial(reader_, context_.ring(), basis);
  ckks::RnsPoly c1 = read_polynomial(reader_, context_.ring(), basis);
  reader_.end();
  return {{std::move(c0), std::move(c1)}, head.scale, fingerprint()};
}

}  // namespace psm::wire
