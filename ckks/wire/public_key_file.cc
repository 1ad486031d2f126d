#include "ckks/wire/public_key_file.h"

#include <utility>

namespace psm::wire {
namespace {

constexpr uint32_t kPublicKeyTag = 1;

uint64_t public_key_bytes(const ckks::Context& context) {
  return sizeof(Seed::bytes) + ckks::packed_bytes(context.ring(), ckks::Basis{context.max_level() + 1, 0});
}

}  // namespace

void write_public_key(const std::string& path, const ckks::Context& context, const ckks::PublicKey& key) {
  ContainerWriter writer(path, {FileKind::kPublicKey, context.spec(), key.fingerprint});
  writer.begin(kPublicKeyTag, public_key_bytes(context));
  writer.write(key.seed.bytes.data(), sizeof key.seed.bytes);
  write_polynomial(writer, key.b);
  writer.end();
  writer.commit();
}

ckks::PublicKey read_public_key(ByteSource source, const ckks::Context& context) {
  ContainerReader reader(std::move(source), FileKind::kPublicKey);
  require_parameters(reader, context);
  RecordHeader record;
  if (!reader.next(record) || record.tag != kPublicKeyTag) reader.refuse("it holds no public key");
  const ckks::Basis basis{context.max_level() + 1, 0};
  reader.expect_length(record, public_key_bytes(context));
  ckks::PublicKey key;
  reader.read(key.seed.bytes.data(), sizeof key.seed.bytes);
  key.b = read_polynomial(reader, context.ring(), basis);
  reader.end();
  key.a = ckks::expand_seed(key.seed, 0, context.ring(), basis);
  key.fingerprint = reader.header().fingerprint;
  if (reader.next(record)) reader.refuse("it holds more than a public key");
  return key;
}

}  // namespace psm::wire
