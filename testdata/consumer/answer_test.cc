// What another workspace builds on the client's and the server's library: a model is compiled, its prompts are encrypted,
// answered and decrypted.
#include <cstdio>
#include <cstdlib>

#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/client/client_file.h"
#include "cmd/client/encoding.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/server/server.h"

using namespace psm;

int main(int, char** argv) {
  const std::string name = std::string(std::getenv("TEST_TMPDIR")) + "/recall", compile = argv[1];
  const std::string command = compile + " --insecure --log-n 11 --model " + argv[2] + " --out " + name;
  if (std::system(command.c_str()) != 0) return 1;

  // The server's program. In one process both sides share its ring.
  const cmd::PlannedPass pass(program::load_program(name + ".program"));
  const ckks::Context& context = *pass.context;

  // The client: keys, prompts, ciphertexts.
  const cmd::ClientFile client = cmd::read_client_file(name + ".client");
  const cmd::PlanEnds ends = client.ends(cmd::kPass);
  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  const ckks::EvaluationKeys keys = ckks::KeyGenerator(secret).evaluation_keys(client.keys);
  const auto& shape = client.model.shape;
  const auto prompts = cmd::codec_of_form(client.prompts, shape, "the client file").sample(1, 1);
  const ckks::Encoder encoder(context);
  ckks::SeededEncryptor encryptor(secret);
  std::map<std::string, ckks::Ciphertext> inputs, outputs;
  const auto encoded =
      cmd::encode_inputs(encoder, ends.inputs, attention::client_inputs(client.model, prompts));
  for (size_t i = 0; i < encoded.size(); ++i)
    inputs.emplace(ends.inputs[i].name, expand(encryptor.encrypt(encoded[i])));

  // The server, which has evaluation keys only.
  outputs = cmd::Server(pass, keys).run(inputs).outputs;

  // The client again.
  attention::SlotVectors slots;
  for (const auto& [name, answer] : outputs) slots.emplace(name, ckks::Decryptor(secret).decrypt(answer));
  cmd::LogitRows logits;
  cmd::append_logits(client.model, slots, prompts, logits);
  int asked = 0, right = 0;
  for (const int t : client.answers.scored_positions(static_cast<int>(prompts[0].size())))
    for (int pair = 0; pair < client.answers.first; pair += 2)
      if (prompts[0][pair] == prompts[0][t]) ++asked, right += cmd::argmax(logits[t]) == prompts[0][pair + 1];
  std::printf("%d of %d answers are right\n", right, asked);
  return asked > 10 && right >= 0.9 * asked ? 0 : 1;
}
