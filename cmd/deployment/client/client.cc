#include "cmd/deployment/client/client.h"

#include "ckks/base/error.h"

namespace psm {

std::vector<Plaintext> encode_inputs(const Encoder& encoder, std::span<const PlanEnd> ends,
                                     const SlotVectors& inputs) {
  std::vector<Plaintext> out;
  for (const PlanEnd& end : ends) {
    const auto found = inputs.find(end.name);
    if (found == inputs.end() || ends.size() != inputs.size()) {
      throw Error(message("the plan's ", ends.size(), " inputs, among them '", end.name,
                          "', are not the model's ", inputs.size(), "; make new keys"));
    }
    out.push_back(encoder.encode(found->second, end.level));
  }
  return out;
}

std::map<std::string, Ciphertext> encrypt_inputs(const Deployment& deployment, const Encoder& encoder,
                                                 Encryptor& encryptor, const SlotVectors& inputs) {
  const PlanEnds ends = ends_of(deployment);
  const std::vector<Plaintext> encoded = encode_inputs(encoder, ends.inputs, inputs);
  std::map<std::string, Ciphertext> out;
  for (size_t i = 0; i < encoded.size(); ++i) out.emplace(ends.inputs[i].name, encryptor.encrypt(encoded[i]));
  return out;
}

SlotVectors decrypt_outputs(const Decryptor& decryptor, const std::map<std::string, Ciphertext>& outputs) {
  SlotVectors out;
  for (const auto& [name, ciphertext] : outputs) out.emplace(name, decryptor.decrypt(ciphertext));
  return out;
}

}  // namespace psm
