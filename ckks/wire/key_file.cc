#include "ckks/wire/key_file.h"

#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/wire/bytes.h"
#include "ckks/wire/polynomial.h"

namespace psm::wire {
namespace {

enum PublicKeyTag : uint32_t { kPublicKeyTag = 1 };
enum KeyRole : uint32_t { kRelinearisation = 1, kGalois = 2, kToEphemeral = 3, kFromEphemeral = 4 };

// What stands before the polynomials of a key-switching key.
struct KeyPrefix {
  uint32_t galois_element;
  int32_t level, p_count, digit_count;
  Seed seed;
};
constexpr uint64_t kPrefixBytes = 4 * 4 + sizeof(Seed::bytes);

uint64_t key_bytes(const Context& context, const KeyPrefix& prefix) {
  return kPrefixBytes + static_cast<uint64_t>(prefix.digit_count) *
                            packed_bytes(context.ring(), Basis{prefix.level + 1, prefix.p_count});
}

KeySwitchKey read_key(ContainerReader& reader, const RecordHeader& record, const Context& context,
                      GaloisElement& element) {
  uint8_t bytes[kPrefixBytes];
  if (record.length < kPrefixBytes) reader.refuse("a key record is too short");
  reader.read(bytes, kPrefixBytes);
  const uint8_t* in = bytes;
  KeyPrefix prefix;
  prefix.galois_element = get<uint32_t>(in);
  prefix.level = get<int32_t>(in);
  prefix.p_count = get<int32_t>(in);
  prefix.digit_count = get<int32_t>(in);
  std::copy(in, in + prefix.seed.bytes.size(), prefix.seed.bytes.begin());
  if (prefix.level < 0 || prefix.level > context.max_level()) reader.refuse("a key has a level that does not exist");
  if (prefix.p_count < 1 || prefix.p_count > context.p_count()) reader.refuse("a key has too many special primes");
  if (prefix.digit_count != context.digit_count(prefix.level)) reader.refuse("a key has a wrong number of digits");
  if (record.tag == kGalois &&
      (prefix.galois_element % 2 == 0 || prefix.galois_element >= 2u * static_cast<uint32_t>(context.n()))) {
    reader.refuse("a key has an impossible Galois element");
  }
  // The shapes that the evaluator relies on: one special prime at level 0 under the ephemeral secret, all of them
  // elsewhere; the way back from it begins at the top.
  if (record.tag == kToEphemeral ? prefix.level != 0 || prefix.p_count != 1 : prefix.p_count != context.p_count()) {
    reader.refuse("a key has a level or special primes that do not fit its role");
  }
  if (record.tag == kFromEphemeral && prefix.level != context.max_level()) {
    reader.refuse("the key from the ephemeral secret does not reach the highest level");
  }
  reader.expect_length(record, key_bytes(context, prefix));
  element = prefix.galois_element;
  KeySwitchKey key;
  key.seed = prefix.seed;
  key.level = prefix.level;
  key.p_count = prefix.p_count;
  key.fingerprint = reader.header().fingerprint;
  const Basis basis{prefix.level + 1, prefix.p_count};
  for (int digit = 0; digit < prefix.digit_count; ++digit) {
    RnsPoly b = read_polynomial(reader, context.ring(), basis);
    RnsPoly a(context.ring(), basis, Form::kNtt);
    expand_seed(key.seed, digit, a);
    key.digits.push_back({std::move(b), std::move(a)});
  }
  reader.end();
  return key;
}

}  // namespace

std::unique_ptr<const Context> make_context(const ContainerReader& reader) {
  auto context = std::make_unique<const Context>(reader.header().spec);
  require_parameters(reader, *context);
  return context;
}

std::unique_ptr<const Context> read_context(const std::string& path, FileKind kind) {
  return make_context(ContainerReader(path, kind));
}

void require_parameters(const ContainerReader& reader, const Context& context) {
  if (reader.header().fingerprint.parameters != context.fingerprint()) {
    reader.refuse("it was made for other parameters; use files of one key generation");
  }
}

void write_public_key(const std::string& path, const Context& context, const PublicKey& key) {
  ContainerWriter writer(path, {FileKind::kPublicKey, context.spec(), key.fingerprint});
  writer.begin(kPublicKeyTag, sizeof key.seed.bytes + packed_bytes(context.ring(), key.b.basis()));
  writer.write(key.seed.bytes.data(), sizeof key.seed.bytes);
  write_polynomial(writer, key.b);
  writer.end();
  writer.commit();
}

PublicKey read_public_key(const std::string& path, const Context& context) {
  ContainerReader reader(path, FileKind::kPublicKey);
  require_parameters(reader, context);
  RecordHeader record;
  if (!reader.next(record) || record.tag != kPublicKeyTag) reader.refuse("it holds no public key");
  const Basis basis{context.max_level() + 1, 0};
  reader.expect_length(record, sizeof(Seed::bytes) + packed_bytes(context.ring(), basis));
  PublicKey key;
  reader.read(key.seed.bytes.data(), sizeof key.seed.bytes);
  key.b = read_polynomial(reader, context.ring(), basis);
  reader.end();
  key.a = RnsPoly(context.ring(), basis, Form::kNtt);
  expand_seed(key.seed, 0, key.a);
  key.fingerprint = reader.header().fingerprint;
  if (reader.next(record)) reader.refuse("it holds more than a public key");
  return key;
}

EvaluationKeysWriter::EvaluationKeysWriter(const std::string& path, const Context& context, Fingerprint fingerprint)
    : context_(context), writer_(path, {FileKind::kEvaluationKeys, context.spec(), fingerprint}) {}

void EvaluationKeysWriter::write(uint32_t role, GaloisElement element, const KeySwitchKey& key) {
  const KeyPrefix prefix{static_cast<uint32_t>(element), key.level, key.p_count,
                         static_cast<int32_t>(key.digits.size()), key.seed};
  writer_.begin(role, key_bytes(context_, prefix));
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

void EvaluationKeysWriter::relinearisation(const KeySwitchKey& key) { write(kRelinearisation, 0, key); }
void EvaluationKeysWriter::galois(GaloisElement element, const KeySwitchKey& key) { write(kGalois, element, key); }
void EvaluationKeysWriter::to_ephemeral(const KeySwitchKey& key) { write(kToEphemeral, 0, key); }
void EvaluationKeysWriter::from_ephemeral(const KeySwitchKey& key) { write(kFromEphemeral, 0, key); }
void EvaluationKeysWriter::commit() { writer_.commit(); }

EvaluationKeys read_evaluation_keys(const std::string& path, const Context& context,
                                    const std::function<void(uint64_t, uint64_t)>& progress) {
  ContainerReader reader(path, FileKind::kEvaluationKeys);
  require_parameters(reader, context);
  const uint64_t total = std::filesystem::file_size(path);
  uint64_t done = 0;
  EvaluationKeys keys;
  keys.fingerprint = reader.header().fingerprint;
  RecordHeader record;
  while (reader.next(record)) {
    GaloisElement element = 0;
    KeySwitchKey key = read_key(reader, record, context, element);
    switch (record.tag) {
      case kRelinearisation: keys.relinearisation = std::move(key); break;
      case kGalois: keys.galois.insert_or_assign(element, std::move(key)); break;
      case kToEphemeral: keys.to_ephemeral = std::move(key); break;
      case kFromEphemeral: keys.from_ephemeral = std::move(key); break;
      default: reader.refuse(message("it holds a key of unknown role ", record.tag));
    }
    done += record.length;
    if (progress) progress(done, total);
  }
  return keys;
}

}  // namespace psm::wire
