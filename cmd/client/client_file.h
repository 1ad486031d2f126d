// The client's file, NAME.client: everything that a client needs for a compiled model. //cmd:compile makes it
// together with NAME.program. FORMATS.md describes it byte by byte.
//
//   digest of the program, parameters, the keys to make, the entry points' inputs and outputs by name and level;
//   the model's two ends (attention/ends/client_model.h), and the form of its prompts (cmd/prompts/prompt_form.h);
//   for encrypted weights, the weights themselves, which are nowhere else: this file is their owner's.
//
// It may come from a server that nobody trusts (client_head.h): lists must have the lengths of the model's
// sizes and fit the file.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "attention/ends/client_model.h"
#include "cmd/client/answers.h"
#include "cmd/client/client_head.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// An input of the program that its owner encrypts once for all texts.
struct ClientWeight {
  std::string name;
  std::vector<std::complex<double>> period;  // of its slots, as floats in the file

  std::vector<std::complex<double>> slots(size_t count) const;  // all, which repeat
  bool operator==(const ClientWeight&) const = default;
};

struct ClientFile : ClientHead {
  attention::ClientModel model;
  Answers answers;
  std::string prompts;                // what they are; empty: numbers of tokens
  double logit_error = 0;             // predicted standard deviation of a logit's error; 0: not known
  std::vector<ClientWeight> weights;  // in the program's order; mostly none
};

void write_client_file(const std::string& path, ClientFile& file);
// Reads a client's file, with the lists of one end only if `only` is given. Throws Error if the file is
// damaged, of another version, or asks for something it may not.
ClientFile read_client_file(const std::string& path, std::optional<attention::ModelEnd> only = {});

}  // namespace psm::cmd
