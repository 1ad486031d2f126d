#include "cmd/generation/server/encrypted_weights.h"

#include "ckks/base/error.h"
#include "ckks/base/progress.h"

namespace psm::cmd {

EncryptedWeights::EncryptedWeights(const std::string& path, TextProgram& program)
    : path_(path),
      file_(path, *program.context, kMaxWeights),
      note_(parse_note<WeightNote>(file_.note(), path)) {
  const std::vector<PlanEnd>& ends = program.weights;
  if (ends.empty()) throw Error("the program has its weights; leave --weights out");
  if (note_.program_id != program.program_id())
    throw Error(message(path, " holds the weights of another program"));
  bool fits = note_.names == names_of(ends) && file_.heads().size() == ends.size();
  for (size_t i = 0; fits && i < ends.size(); ++i)
    fits = file_.heads()[i].level == ends[i].level &&
           file_.heads()[i].scale == program.context->scale(ends[i].level);
  if (!fits)
    throw Error(message(path, " does not hold the weights that its program asks for; encrypt them anew"));
  program.id = note_.id;
}

Ciphertexts EncryptedWeights::read(ckks::Fingerprint keys) {
  if (file_.fingerprint() != keys)
    throw Error(
        message("the weights of ", path_,
                " are under another key pair than the prompts: two parties' secrets cannot be computed on "
                "together; one party must own model and data, and encrypt both"));
  Ciphertexts weights;
  Progress progress("reading weights", static_cast<double>(note_.names.size()));
  for (size_t i = 0; i < note_.names.size(); ++i) {
    weights.emplace(note_.names[i], file_.load(i));
    progress.set(static_cast<double>(i + 1));
  }
  return weights;
}

}  // namespace psm::cmd
