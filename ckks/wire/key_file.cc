#include "ckks/wire/key_file.h"

#include <utility>

#include "ckks/base/error.h"

namespace psm::wire {
namespace {

// What stands before the polynomials of a key-switching key.
constexpr uint64_t kPrefixBytes = 4 * 4 + sizeof(Seed::bytes);

uint64_t key_bytes(const ckks::Context& context, const ckks::KeyName& key) {
  return kPrefixBytes + static_cast<uint64_t>(key.digits) *
                            ckks::packed_bytes(context.ring(), ckks::Basis{key.level + 1, key.p_count});
}

// Reads and checks what stands before a key's polynomials, and that the record is as long as they are.
std::pair<ckks::KeyName, Seed> read_prefix(ContainerReader& reader, const RecordHeader& record,
                                           const ckks::Context& context) {
  std::pair<ckks::KeyName, Seed> prefix;
  auto& [role, element, level, p_count, digits] = prefix.first;
  role = static_cast<KeyRole>(record.tag);
  if (role < KeyRole::kRelinearisation || role > KeyRole::kFromEphemeral) {
    reader.refuse(message("it holds a key of unknown role ", record.tag));
  }
  if (record.length < kPrefixBytes) reader.refuse("a key record is too short");
  int32_t numbers[4];
  reader.read(numbers, sizeof numbers);
  reader.read(prefix.second.bytes.data(), sizeof(Seed::bytes));
  element = static_cast<uint32_t>(numbers[0]), level = ckks::Level::at(numbers[1]);
  p_count = numbers[2], digits = numbers[3];
  if (level < 0 || level > context.max_level()) reader.refuse("a key has a level that does not exist");
  // The shapes that the evaluator relies on.
  const ckks::KeyName right = ckks::key_name(context.chain(), role, element, level);
  if (digits != right.digits) reader.refuse("a key has a wrong number of digits; make keys for this model");
  const bool turns = role == KeyRole::kGalois || role == KeyRole::kFromEphemeral;
  if (turns ? element % 2 == 0 || element >= 2u * static_cast<uint32_t>(context.n()) : element != 0) {
    reader.refuse("a key has an impossible Galois element");
  }
  if (p_count != right.p_count || (role == KeyRole::kToEphemeral && level != 0)) {
    reader.refuse("a key has a level or special primes that do not fit its role");
  }
  reader.expect_length(record, key_bytes(context, right));
  return prefix;
}

}  // namespace

uint64_t evaluation_keys_file_bytes(const ckks::Context& context, const ckks::KeyRequest& request) {
  uint64_t total = container_bytes(context.spec());
  for (const ckks::KeyName& key : request.keys(context.chain()))
    total += record_bytes(key_bytes(context, key));
  return total;
}

EvaluationKeysWriter::EvaluationKeysWriter(const std::string& path, const ckks::Context& context,
                                           ckks::Fingerprint fingerprint)
    : context_(context), writer_(path, {FileKind::kEvaluationKeys, context.spec(), fingerprint}) {}

void EvaluationKeysWriter::write(KeyRole role, ckks::GaloisElement element, const ckks::KeySwitchKey& key) {
  const auto digits = static_cast<int32_t>(key.digits.size());
  PSM_CHECK(digits == ckks::key_name(context_.chain(), role, element, key.level).digits, digits);
  writer_.begin(static_cast<uint32_t>(role),
                key_bytes(context_, {role, element, key.level, key.p_count, digits}));
  const int32_t numbers[] = {static_cast<int32_t>(element), key.level, key.p_count, digits};
  writer_.write(numbers, sizeof numbers);
  writer_.write(key.seed.bytes.data(), sizeof key.seed.bytes);
  for (const auto& digit : key.digits) write_polynomial(writer_, digit.b);
  writer_.end();
}

EvaluationKeysReader::EvaluationKeysReader(ByteSource source, const ckks::Context& context)
    : context_(context), reader_(std::move(source), FileKind::kEvaluationKeys) {
  require_parameters(reader_, context);
  RecordHeader record;
  for (uint64_t position = reader_.position(); reader_.next(record); position = reader_.position()) {
    const Entry entry{read_prefix(reader_, record, context).first, position, record_bytes(record.length)};
    if (!index_.emplace(ckks::use_of(context, entry), entries_.size()).second)
      reader_.refuse(message("it holds ", text(entry), " twice"));
    entries_.push_back(entry);
    reader_.skip();
  }
}

ckks::KeySwitchKey EvaluationKeysReader::load(const Entry& entry) {
  reader_.seek(entry.position);
  RecordHeader record;
  // Checked again: the file may have been exchanged since it was opened.
  if (!reader_.next(record)) reader_.refuse("it changed while it was read");
  const auto [stored, seed] = read_prefix(reader_, record, context_);
  if (stored.role != entry.role || stored.element != entry.element || stored.level != entry.level)
    reader_.refuse("it changed while it was read");
  ckks::KeySwitchKey key{
      .seed = seed, .level = stored.level, .p_count = stored.p_count, .fingerprint = fingerprint()};
  const ckks::Ring& ring = context_.ring();
  const ckks::Basis basis{key.level + 1, key.p_count};
  for (int digit = 0; digit < stored.digits; ++digit) {
    ckks::PackedPoly b = read_packed_polynomial(reader_, ring, basis);
    // Limb by limb: there is never a whole polynomial that is not packed.
    ckks::PackedPoly a(ring, basis, [&](int limb, uint64_t* residues) {
      ckks::expand_limb(key.seed, digit, ring, ring.prime_index(basis, limb), residues);
    });
    key.digits.push_back({std::move(b), std::move(a)});
  }
  reader_.end();
  return key;
}

const EvaluationKeysReader::Entry& EvaluationKeysReader::find(const ckks::KeyName& wanted) const {
  const auto found = index_.find(ckks::use_of(context_, wanted));
  if (found == index_.end()) reader_.refuse(message("it lacks ", text(wanted), "; make keys for this model"));
  const Entry& entry = entries_[found->second];
  if (entry.level < wanted.level) {
    reader_.refuse(message(text(entry), " serves levels up to ", entry.level, ", level ", wanted.level,
                           " is needed; make keys for this model"));
  }
  return entry;
}

std::vector<const EvaluationKeysReader::Entry*> EvaluationKeysReader::find(
    const ckks::KeyRequest& request) const {
  std::vector<const Entry*> wanted;
  for (const ckks::KeyName& key : request.keys(context_.chain())) wanted.push_back(&find(key));
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
    keys.keys.emplace(ckks::use_of(context_, *entry), load(*entry));
    done += entry->bytes;
    if (progress) progress(done, total);
  }
  return keys;
}

}  // namespace psm::wire
