// The keys of a client whose server is in the same process: for the demonstration and for timing.
#pragma once

#include <memory>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/public/keys.h"
#include "cmd/deployment/deployment.h"
#include "cmd/server/run_figures.h"

namespace psm::cmd {

struct ClientKeys {
  std::unique_ptr<const ckks::SecretKey> secret;
  ckks::PublicKey public_key;
  ckks::EvaluationKeys evaluation;  // what the server gets
  double seconds = 0;               // that making them took
};

// Those that the deployment's plan asks for, with a progress bar. Meanwhile the memory that a run takes is
// touched, and `figures` learns of it.
ClientKeys make_client_keys(const Deployment& deployment, RunFigures& figures);

}  // namespace psm::cmd
