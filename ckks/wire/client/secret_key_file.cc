#include "ckks/wire/client/secret_key_file.h"

#include "ckks/base/error.h"
#include "ckks/base/secret.h"
#include "ckks/wire/container.h"

namespace psm::wire {

ckks::SecretKey read_secret_key(ByteSource source, const ckks::Context& context) {
  if (source.open_to_others()) {
    throw Error(message("cannot use ", source.name(),
                        ": others than its owner may read or write it, and whoever reads it "
                        "reads every prompt; if nobody else has, chmod 600 it, else make new keys"));
  }
  ContainerReader reader(std::move(source), FileKind::kSecretKey);
  require_parameters(reader, context);
  RecordHeader record;
  if (!reader.next(record) || record.tag != kSecretKeyTag) reader.refuse("it holds no secret key");
  const size_t n = static_cast<size_t>(context.n());
  reader.expect_length(record, n / 4);
  SecretVector<uint8_t> bytes(n / 4);
  reader.read(bytes.data(), bytes.size());
  reader.end();
  SecretVector<int32_t> coefficients(n);
  for (size_t i = 0; i < n; ++i) coefficients[i] = ((bytes[i / 4] >> (2 * (i % 4))) & 3) - 1;
  if (reader.next(record)) reader.refuse("it holds more than a secret key");
  return ckks::SecretKey(context, std::move(coefficients), reader.header().fingerprint.key);
}

void write_secret_key(const std::string& path, const ckks::SecretKey& key) {
  const auto& coefficients = key.coefficients();
  SecretVector<uint8_t> bytes(coefficients.size() / 4);
  for (size_t i = 0; i < coefficients.size(); ++i) {
    bytes[i / 4] |= static_cast<uint8_t>((coefficients[i] + 1) << (2 * (i % 4)));
  }
  ContainerWriter writer(path, {FileKind::kSecretKey, key.context().spec(), key.fingerprint()});
  writer.begin(kSecretKeyTag, bytes.size());
  writer.write(bytes.data(), bytes.size());
  writer.end();
  writer.commit();
}

}  // namespace psm::wire
