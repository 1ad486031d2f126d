#include "ckks/base/secret.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/file_context.h"

namespace psm::wire {

uint64_t secret_key_file_bytes(const ckks::Context& context) {
  return container_bytes(context.spec()) + record_bytes(static_cast<uint64_t>(context.n()) / 4);
}

void write_secret_key(const std::string& path, const ckks::SecretKey& key) {
  const auto& coefficients = key.coefficients();
  SecretVector<uint8_t> bytes(coefficients.size() / 4);
  for (size_t i = 0; i < coefficients.size(); ++i) {
    bytes[i / 4] |= static_cast<uint8_t>((coefficients[i] + 1) << (2 * (i % 4)));
  }
  ContainerWriter writer(path, {FileKind::kSecretKey, key.context().spec(), key.fingerprint()}, true);
  writer.begin(kSecretKeyTag, bytes.size());
  writer.write(bytes.data(), bytes.size());
  writer.end();
  writer.commit();
}

}  // namespace psm::wire
