#include "cmd/deployment/client/client.h"

#include "ckks/base/error.h"

namespace psm {

std::map<std::string, Ciphertext> encrypt_inputs(const Deployment& deployment, const Encoder& encoder,
                                                 Encryptor& encryptor, const SlotVectors& inputs) {
  std::map<std::string, Ciphertext> out;
  const program::Program& program = deployment.plan.program;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const auto found = inputs.find(program.inputs[i].name);
    PSM_CHECK(found != inputs.end(), program.inputs[i].name);
    out.emplace(found->first,
                encryptor.encrypt(encoder.encode(found->second, deployment.plan.input_levels[i])));
  }
  return out;
}

SlotVectors decrypt_outputs(const Decryptor& decryptor, const std::map<std::string, Ciphertext>& outputs) {
  SlotVectors out;
  for (const auto& [name, ciphertext] : outputs) out.emplace(name, decryptor.decrypt(ciphertext));
  return out;
}

}  // namespace psm
