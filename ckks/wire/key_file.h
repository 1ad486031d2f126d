// Files of public keys and evaluation keys. Evaluation keys are written and read one key at a time: with a seed for
// every `a` half, a file is half the size of the keys in memory, and never needs to be in memory as a whole.
//
// Parameters travel in each header; make_context() rebuilds them and refuses a file whose numbers do not give the
// fingerprint that its header states.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ckks/scheme/context.h"
#include "ckks/scheme/keys.h"
#include "ckks/wire/container.h"

namespace psm::wire {

// Validates the specification of a header (security bounds included) and builds its Context.
std::unique_ptr<const Context> make_context(const ContainerReader& reader);
// The header alone: which parameters, which key pair.
std::unique_ptr<const Context> read_context(const std::string& path, FileKind kind);
// Refuses a file of other parameters.
void require_parameters(const ContainerReader& reader, const Context& context);

void write_public_key(const std::string& path, const Context& context, const PublicKey& key);
PublicKey read_public_key(const std::string& path, const Context& context);

class EvaluationKeysWriter {
 public:
  EvaluationKeysWriter(const std::string& path, const Context& context, Fingerprint fingerprint);
  void relinearisation(const KeySwitchKey& key);
  void galois(GaloisElement element, const KeySwitchKey& key);
  void to_ephemeral(const KeySwitchKey& key);
  void from_ephemeral(const KeySwitchKey& key);
  void commit();
  uint64_t bytes_written() const { return writer_.bytes_written(); }

 private:
  void write(uint32_t role, GaloisElement element, const KeySwitchKey& key);

  const Context& context_;
  ContainerWriter writer_;
};

// `progress(bytes read, bytes in all)` may be empty.
EvaluationKeys read_evaluation_keys(const std::string& path, const Context& context,
                                    const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace psm::wire
