#include "ckks/wire/client/secret_key_file.h"

#include "ckks/base/error.h"
#include "ckks/base/secret.h"
#include "ckks/wire/file_context.h"

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

}  // namespace psm::wire
