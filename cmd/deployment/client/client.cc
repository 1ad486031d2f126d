#include "cmd/deployment/client/client.h"

#include "ckks/base/error.h"

namespace psm::cmd {

std::map<std::string, ckks::Ciphertext> encrypt_inputs(const Deployment& deployment,
                                                       const ckks::Encoder& encoder,
                                                       ckks::Encryptor& encryptor,
                                                       const attention::SlotVectors& inputs) {
  const PlanEnds ends = ends_of(deployment);
  const std::vector<ckks::Plaintext> encoded = encode_inputs(encoder, ends.inputs, inputs);
  std::map<std::string, ckks::Ciphertext> out;
  for (size_t i = 0; i < encoded.size(); ++i) out.emplace(ends.inputs[i].name, encryptor.encrypt(encoded[i]));
  return out;
}

attention::SlotVectors decrypt_outputs(const ckks::Decryptor& decryptor,
                                       const std::map<std::string, ckks::Ciphertext>& outputs) {
  attention::SlotVectors out;
  for (const auto& [name, ciphertext] : outputs) out.emplace(name, decryptor.decrypt(ciphertext));
  return out;
}

}  // namespace psm::cmd
