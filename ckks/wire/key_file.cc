#include "ckks/wire/key_file.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/wire/bytes.h"
#include "ckks/wire/polynomial.h"

namespace psm::wire {
namespace {

// What stands before the polynomials of a key-switching key.
struct KeyPrefix {
  uint32_t galois_element;
  ckks::Level level;
  int32_t p_count, digit_count;
  Seed seed;
};
constexpr uint64_t kPrefixBytes = 4 * 4 + sizeof(Seed::bytes);

uint64_t key_bytes(const ckks::Context& context, ckks::Level level, int p_count) {
  return kPrefixBytes + static_cast<uint64_t>(context.digit_count(level)) *
                            ckks::packed_bytes(context.ring(), ckks::Basis{level + 1, p_count});
}

const char* name(KeyRole role) {
  switch (role) {
    case KeyRole::kRelinearisation:
      return "for products";
    case KeyRole::kGalois:
      return "of the Galois element";
    case KeyRole::kToEphemeral:
      return "to the ephemeral secret";
    case KeyRole::kFromEphemeral:
      return "from the ephemeral secret";
  }
  return "of no role";
}

// Reads and checks what stands before a key's polynomials, and that the record is as long as they are.
KeyPrefix read_prefix(ContainerReader& reader, const RecordHeader& record, const ckks::Context& context) {
  uint8_t bytes[kPrefixBytes];
  const auto role = static_cast<KeyRole>(record.tag);
  if (role < KeyRole::kRelinearisation || role > KeyRole::kFromEphemeral) {
    reader.refuse(message("it holds a key of unknown role ", record.tag));
  }
  if (record.length < kPrefixBytes) reader.refuse("a key record is too short");
  reader.read(bytes, kPrefixBytes);
  const uint8_t* in = bytes;
  KeyPrefix prefix;
  prefix.galois_element = get<uint32_t>(in);
  prefix.level = ckks::Level::at(get<int32_t>(in));
  prefix.p_count = get<int32_t>(in);
  prefix.digit_count = get<int32_t>(in);
  std::copy(in, in + prefix.seed.bytes.size(), prefix.seed.bytes.begin());
  if (prefix.level < 0 || prefix.level > context.max_level())
    reader.refuse("a key has a level that does not exist");
  if (prefix.digit_count != context.digit_count(prefix.level))
    reader.refuse("a key has a wrong number of digits");
  if (role == KeyRole::kGalois
          ? prefix.galois_element % 2 == 0 || prefix.galois_element >= 2u * static_cast<uint32_t>(context.n())
          : prefix.galois_element != 0) {
    reader.refuse("a key has an impossible Galois element");
  }
  // The shapes that the evaluator relies on: one special prime at level 0 under the ephemeral secret, those
  // of the level elsewhere; the way back from it begins at the top.
  if (role == KeyRole::kToEphemeral ? prefix.level != 0 || prefix.p_count != 1
                                    : prefix.p_count != context.p_count(prefix.level)) {
    reader.refuse("a key has a level or special primes that do not fit its role");
  }
  if (role == KeyRole::kFromEphemeral && prefix.level != context.max_level()) {
    reader.refuse("the key from the ephemeral secret does not reach the highest level");
  }
  reader.expect_length(record, key_bytes(context, prefix.level, prefix.p_count));
  return prefix;
}

}  // namespace

uint64_t evaluation_key_bytes(const ckks::Context& context, ckks::Level level) {
  return record_bytes(key_bytes(context, level, context.p_count(level)));
}

uint64_t evaluation_keys_file_bytes(const ckks::Context& context, const ckks::KeyRequest& request) {
  uint64_t total = container_bytes(context.spec());
  for (const ckks::Level level : request.relinearisation_keys(context.chain()))
    total += evaluation_key_bytes(context, level);
  for (const auto& [element, level] : request.galois_keys(context.chain()))
    total += evaluation_key_bytes(context, level);
  if (request.encapsulation) {
    total += record_bytes(key_bytes(context, 0, 1)) + evaluation_key_bytes(context, context.max_level());
  }
  return total;
}

EvaluationKeysWriter::EvaluationKeysWriter(const std::string& path, const ckks::Context& context,
                                           ckks::Fingerprint fingerprint)
    : context_(context), writer_(path, {FileKind::kEvaluationKeys, context.spec(), fingerprint}) {}

void EvaluationKeysWriter::write(KeyRole role, ckks::GaloisElement element, const ckks::KeySwitchKey& key) {
  const KeyPrefix prefix{static_cast<uint32_t>(element), key.level, key.p_count,
                         static_cast<int32_t>(key.digits.size()), key.seed};
  PSM_CHECK(prefix.digit_count == context_.digit_count(key.level), prefix.digit_count);
  writer_.begin(static_cast<uint32_t>(role), key_bytes(context_, key.level, key.p_count));
  std::vector<uint8_t> bytes;
  put(bytes, prefix.galois_element);
  put(bytes, prefix.level);
  put(bytes, prefix.p_count);
  put(bytes, prefix.digit_count);
  bytes.insert(bytes.end(), prefix.seed.bytes.begin(), prefix.seed.bytes.end());
  PSM_CHECK(bytes.size() == kPrefixBytes, bytes.size());
  writer_.write(bytes.data(), bytes.size());
  for (const auto& digit : key.digits) write_polynomial(writer_, digit.b);
  writer_.end();
}

void EvaluationKeysWriter::relinearisation(const ckks::KeySwitchKey& key) {
  write(KeyRole::kRelinearisation, 0, key);
}
void EvaluationKeysWriter::galois(ckks::GaloisElement element, const ckks::KeySwitchKey& key) {
  write(KeyRole::kGalois, element, key);
}
void EvaluationKeysWriter::to_ephemeral(const ckks::KeySwitchKey& key) {
  write(KeyRole::kToEphemeral, 0, key);
}
void EvaluationKeysWriter::from_ephemeral(const ckks::KeySwitchKey& key) {
  write(KeyRole::kFromEphemeral, 0, key);
}
void EvaluationKeysWriter::commit() { writer_.commit(); }

EvaluationKeysReader::EvaluationKeysReader(ByteSource source, const ckks::Context& context)
    : context_(context), reader_(std::move(source), FileKind::kEvaluationKeys) {
  require_parameters(reader_, context);
  RecordHeader record;
  for (uint64_t position = reader_.position(); reader_.next(record); position = reader_.position()) {
    const KeyPrefix prefix = read_prefix(reader_, record, context);
    const Entry entry{static_cast<KeyRole>(record.tag), prefix.galois_element, prefix.level, position,
                      record_bytes(record.length)};
    if (!index_.emplace(std::tuple{entry.role, entry.element, context.band(entry.level)}, entries_.size())
             .second) {
      reader_.refuse(message("it holds two keys ", name(entry.role), " ", entry.element));
    }
    entries_.push_back(entry);
    reader_.skip();
  }
}

ckks::KeySwitchKey EvaluationKeysReader::load(const Entry& entry) {
  reader_.seek(entry.position);
  RecordHeader record;
  // Checked again: the file may have been exchanged since it was opened.
  if (!reader_.next(record)) reader_.refuse("it changed while it was read");
  const KeyPrefix prefix = read_prefix(reader_, record, context_);
  if (record.tag != static_cast<uint32_t>(entry.role) || prefix.galois_element != entry.element ||
      prefix.level != entry.level) {
    reader_.refuse("it changed while it was read");
  }
  ckks::KeySwitchKey key;
  key.seed = prefix.seed;
  key.level = prefix.level;
  key.p_count = prefix.p_count;
  key.fingerprint = fingerprint();
  const ckks::Basis basis{prefix.level + 1, prefix.p_count};
  for (int digit = 0; digit < prefix.digit_count; ++digit) {
    ckks::PackedPoly b = read_packed_polynomial(reader_, context_.ring(), basis);
    key.digits.push_back({std::move(b), ckks::expand_seed_packed(key.seed, digit, context_.ring(), basis)});
  }
  reader_.end();
  return key;
}

const EvaluationKeysReader::Entry& EvaluationKeysReader::find(KeyRole role, ckks::GaloisElement element,
                                                              ckks::Level level) const {
  const auto found = index_.find({role, element, context_.band(level)});
  if (found == index_.end()) {
    reader_.refuse(message("it lacks the key ", name(role), " ", element, "; make keys for this model"));
  }
  const Entry& entry = entries_[found->second];
  if (entry.level < level) {
    reader_.refuse(message("its key ", name(role), " ", element, " serves levels up to ", entry.level,
                           ", level ", level, " is needed; make keys for this model"));
  }
  return entry;
}

std::vector<const EvaluationKeysReader::Entry*> EvaluationKeysReader::find(
    const ckks::KeyRequest& request) const {
  std::vector<const Entry*> wanted;
  for (const ckks::Level level : request.relinearisation_keys(context_.chain())) {
    wanted.push_back(&find(KeyRole::kRelinearisation, 0, level));
  }
  for (const auto& [element, level] : request.galois_keys(context_.chain()))
    wanted.push_back(&find(KeyRole::kGalois, element, level));
  if (request.encapsulation) {
    wanted.push_back(&find(KeyRole::kToEphemeral, 0, 0));
    wanted.push_back(&find(KeyRole::kFromEphemeral, 0, context_.max_level()));
  }
  return wanted;
}

ckks::EvaluationKeys EvaluationKeysReader::load(const ckks::KeyRequest& request,
                                                const std::function<void(uint64_t, uint64_t)>& progress) {
  const std::vector<const Entry*> wanted = find(request);  // all of them, before the first is read
  uint64_t done = 0, total = 0;
  for (const Entry* entry : wanted) total += entry->bytes;
  ckks::EvaluationKeys keys;
  keys.fingerprint = fingerprint();
  for (const Entry* entry : wanted) {
    ckks::KeySwitchKey key = load(*entry);
    switch (entry->role) {
      case KeyRole::kRelinearisation:
        keys.relinearisation.emplace(context_.band(entry->level), std::move(key));
        break;
      case KeyRole::kGalois:
        keys.galois.emplace(std::pair{entry->element, context_.band(entry->level)}, std::move(key));
        break;
      case KeyRole::kToEphemeral:
        keys.to_ephemeral = std::move(key);
        break;
      case KeyRole::kFromEphemeral:
        keys.from_ephemeral = std::move(key);
        break;
    }
    done += entry->bytes;
    if (progress) progress(done, total);
  }
  return keys;
}

}  // namespace psm::wire
