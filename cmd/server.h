// The server's part: ciphertexts in, ciphertexts out. It depends on no secret key, and a test of the build asserts that
// (//cmd:infer_links_no_secret_key_test).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ckks/program/encrypted_machine.h"
#include "cmd/deployment.h"

namespace psm {

// The seconds that instructions took, summed over those whose labels begin alike.
struct BlockTime {
  std::string block;  // "layer 0 / attention"
  int instructions = 0, bootstraps = 0;
  double seconds = 0;
};
std::vector<BlockTime> time_by_block(const program::Plan& plan, const std::vector<double>& seconds, int depth);

class Server {
 public:
  // Encodes what all runs share. Throws Error if a key is missing or belongs elsewhere.
  Server(const Deployment& deployment, const EvaluationKeys& keys);

  // One pass of the model. Inputs by the names of the program.
  program::RunResult run(const std::map<std::string, Ciphertext>& inputs, const program::RunOptions& options = {});
  program::RunResult resume(program::Checkpoint checkpoint, const program::RunOptions& options);

  size_t encoded_bytes() const;

 private:
  const Deployment& deployment_;
  Encoder encoder_;
  Evaluator evaluator_;
  std::unique_ptr<const Bootstrapper> bootstrapper_;
  program::EncryptedMachine machine_;
};

}  // namespace psm
