// The client's file, NAME.client: all that a client needs of a compiled model, made beside NAME.program
// (//cmd:compile). FORMATS.md describes it byte by byte.
//
//   digest of the program, parameters, the keys to make, the entry points' inputs and outputs by name and level;
//   the model's two ends (attention/ends/client_model.h), and what its tokens are (prompts.h);
//   where the server computes on encrypted weights, the weights, which are nowhere else: this file is their owner's.
//
// It may come from a server that nobody trusts. Reading takes only what the client's own tables allow: parameters
// that Context accepts (the security table), levels of their chain, at most kMostKeys keys, lists as long as the
// model's sizes say and the file holds. A file that lies costs its reader a wrong answer, and no secret: what is
// sent are encryptions under the client's key, and evaluation keys of this key pair.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention/ends/client_model.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct ClientEntry {
  std::string name;  // of the program's entry point
  std::vector<PlanEnd> inputs, outputs;
};

// An input of the program that its owner encrypts once for all texts.
struct ClientWeight {
  std::string name;
  std::vector<std::complex<double>> period;  // of its slots, as floats in the file
};

struct ClientFile {
  static constexpr size_t kMostKeys = 4096;

  std::array<uint8_t, 32> program{};  // its digest
  ckks::ParameterSpec spec;
  ckks::KeyRequest keys;
  std::vector<ClientEntry> entries;
  attention::ClientModel model;
  std::map<std::string, std::string> notes;  // of the checkpoint: what tokens are
  double logit_error = 0;                    // predicted standard deviation of a logit's error; 0: not known
  std::vector<ClientWeight> weights;         // in the program's order; mostly none
  uint64_t id = 0;                           // of all that the file holds; made by writing and by reading

  uint64_t program_id() const;
  std::shared_ptr<const ckks::Context> context;  // of the parameters; made by reading
  // Throws Error if the program has none of this name.
  PlanEnds ends(const std::string& entry) const;
  // "3.35 GB in 187 keys ...": what the client would make and send.
  std::string request_text() const;
};

void write_client_file(const std::string& path, ClientFile& file);
// Throws Error where the file is damaged, of another version, or asks for what it may not.
ClientFile read_client_file(const std::string& path);

}  // namespace psm::cmd
