// The client's file, NAME.client: all that a client needs of a compiled model, made together with
// NAME.program (//cmd:compile). FORMATS.md describes it byte by byte.
//
//   digest of the program, parameters, the keys to make, the entry points' inputs and outputs by name and level;
//   the model's two ends (attention/ends/client_model.h), and what its prompts are (cmd/prompts/prompt_form.h);
//   where the server computes on encrypted weights, the weights, which are nowhere else: this file is their owner's.
//
// It may come from a server that nobody trusts (client_head.h): lists are as long as the model's sizes say and the file
// holds.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/ends/client_model.h"
#include "cmd/client/answers.h"
#include "cmd/client/client_head.h"

namespace psm::cmd {

// An input of the program that its owner encrypts once for all texts.
struct ClientWeight {
  std::string name;
  std::vector<std::complex<double>> period;  // of its slots, as floats in the file
};

struct ClientFile : ClientHead {
  attention::ClientModel model;
  Answers answers;
  std::string prompts;                // what they are; empty: numbers of tokens
  double logit_error = 0;             // predicted standard deviation of a logit's error; 0: not known
  std::vector<ClientWeight> weights;  // in the program's order; mostly none
};

void write_client_file(const std::string& path, ClientFile& file);
// Without the other end's embeddings where only one end is wanted. Throws Error where the file is damaged, of another
// version, or asks for what it may not.
ClientFile read_client_file(const std::string& path, std::optional<attention::ModelEnd> only = {});

}  // namespace psm::cmd
