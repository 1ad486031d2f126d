// What a server of texts holds: the compiled program (text_ends.h), evaluation keys, and weights where they are encrypted.
#pragma once

#include <set>
#include <string>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/verify/verify.h"
#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/public/keys.h"
#include "ckks/wire/key_file.h"
#include "cmd/generation/server/kept_text.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/group_files.h"

namespace psm::cmd {

// The evaluation keys that a server of texts has in memory: those of the current run, from a file with all. Keys are
// the largest part of its memory. A pass over a prompt and a token share only a third of them, and never run at once.
class HeldKeys {
 public:
  // Holds no keys at first.
  HeldKeys(const std::string& file, const ckks::Context& context);

  // Holds exactly these keys from now on: frees the others, then reads the missing ones. Throws Error if the
  // file lacks one.
  void hold(const ckks::KeyRequest& request);
  // Throws Error if the file lacks one, without reading any.
  void require(const ckks::KeyRequest& request) const { file_.require(request); }

  const ckks::EvaluationKeys& keys() const { return keys_; }  // stays where it is

 private:
  wire::EvaluationKeysReader file_;
  const ckks::Context& context_;
  ckks::EvaluationKeys keys_;
};

// A compiled program that goes on with a text.
class TextProgram : public TextEnds {
 public:
  // Throws Error if the program does not continue texts, or if a prompt makes caches that a token cannot take.
  explicit TextProgram(program::VerifiedProgram program);

  const program::EntryPoint& prompt() const { return file_.entry(kPrompt); }  // where it takes prompts
  const program::EntryPoint& token() const { return file_.entry(kToken); }
  // The id of the file itself, also if weights have a number of their own.
  uint64_t program_id() const { return file_.id(); }

  std::set<ckks::BootstrapKind> bootstraps;             // that the entries have
  ckks::KeyRequest keys;                                // of all entries
  program::MeterReading prompt_reading, token_reading;  // by nominal costs
  // The server's least memory: keys of one run, caches, encrypted weights, and a run.
  double least_bytes() const;

  size_t cache_bytes() const;                                             // packed
  size_t weight_bytes() const { return group_bytes(*context, weights); }  // in memory
  // What the server needs at its peak besides the program, predicted: with the keys of one run at a time
  // (HeldKeys), or with all of them, as on a device.
  size_t server_bytes(bool all_keys = false) const;

 private:
  program::ProgramFile file_;
};

// A server's encrypted weights in memory.
class EncryptedWeights {
 public:
  // Throws Error unless the file has exactly the program's weights. Messages name `path`. From then on the
  // program's conversations carry the weights' number.
  EncryptedWeights(const std::string& path, TextProgram& program);
  // Reads the weights, with a progress bar. Throws Error if they are under another key pair than the prompts.
  Ciphertexts read(ckks::Fingerprint keys);

 private:
  std::string path_;
  GroupFile<WeightNote> file_;
};

}  // namespace psm::cmd
