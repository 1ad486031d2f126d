#include "cmd/generation/server/text_program.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/progress.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/ring/packed_poly.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/server/chosen_engine.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {

HeldKeys::HeldKeys(const std::string& file, const ckks::Context& context)
    : file_(file, context), context_(context) {
  keys_.fingerprint = file_.fingerprint();
}

void HeldKeys::hold(const ckks::KeyRequest& request) {
  std::set<ckks::EvaluationKeys::Use> wanted;
  ckks::KeyRequest missing;
  for (const ckks::KeyName& name : request.keys(context_.chain())) {
    const auto use = ckks::use_of(context_, name);
    wanted.insert(use);
    if (!keys_.keys.contains(use)) missing.need(name);
  }
  std::erase_if(keys_.keys, [&](const auto& key) { return !wanted.contains(key.first); });
  if (missing.count(context_.chain()) > 0) keys_.keys.merge(read_keys(file_, missing).keys);
}

namespace {

// An entry whose argument takes the values from `first` on.
void require_argument(const program::EntryPoint& entry, int first) {
  if (entry.argument.empty() || entry.first != first)
    throw Error(message("the program's entry point '", entry.name, "' goes on with no text; compile it with ",
                        "--for text"));
}

TextEnds text_ends_of(const program::ProgramFile& file) {
  const auto named = [&](const char* name) {
    return std::ranges::find(file.entries, name, &program::EntryPoint::name);
  };
  const auto prompt = named(kPrompt), token = named(kToken), none = file.entries.end();
  if (token == none) return TextEnds({}, {});
  require_argument(*token, 0);
  if (prompt == none) return TextEnds({}, ends_of(token->plan));
  require_argument(*prompt, 1);
  if (prompt->by_argument.size() != token->by_argument.size())
    throw Error("prompts and tokens have different numbers of places; compile the model again");
  return TextEnds(ends_of(prompt->plan), ends_of(token->plan));
}

}  // namespace

TextProgram::TextProgram(program::VerifiedProgram program)
    : TextEnds(text_ends_of(program.file)), file_(std::move(program.file)) {
  context = std::move(program.context);
  id = file_.id();
  tokens = static_cast<int>(token().by_argument.size());
  bootstraps = program::bootstrap_kinds(token().plan);
  keys = token().keys;
  if (takes_prompts()) {
    bootstraps.merge(program::bootstrap_kinds(prompt().plan));
    keys.merge(prompt().keys);
  }
  const program::CostModel costs = program::costs_of(*context, ckks::plan_bootstraps(*context, bootstraps));
  std::set<std::string> shared;
  for (const PlanEnd& weight : weights) shared.insert(weight.name);
  token_reading = program::meter(token().plan, costs, shared);
  // For a token all are kept, those of its position for one run; for a prompt, masks that all layers read.
  token_reading.encoded_limit = static_cast<size_t>(2 * token_reading.plaintext_bytes);
  if (takes_prompts()) prompt_reading = program::meter(prompt().plan, costs);
  prompt_reading.encoded_limit = size_t{1} << 30;
}

size_t TextProgram::cache_bytes() const {
  size_t bytes = 0;
  for (const PlanEnd& cache : caches)
    bytes += 2 * ckks::packed_bytes(context->ring(), ckks::Basis{cache.level + 1, 0});
  return bytes;
}

double TextProgram::least_bytes() const {
  double run = token_reading.least_bytes();
  if (takes_prompts()) run = std::max(run, prompt_reading.least_bytes());
  return run + static_cast<double>(weight_bytes() + cache_bytes());
}

size_t TextProgram::server_bytes(bool all_keys) const {
  const auto of_run = [&](const ckks::KeyRequest& request, double bytes) {
    return (all_keys ? keys : request).bytes(context->chain()) + static_cast<size_t>(bytes);
  };
  // Between tokens all plaintexts stay encoded, up to the limit.
  const double token_bytes = token_reading.peak_ciphertext_bytes + token_reading.kept_plaintext_bytes() +
                             token_reading.bootstrap_bytes;
  size_t bytes = of_run(token().keys, token_bytes);
  if (takes_prompts()) bytes = std::max(bytes, of_run(prompt().keys, prompt_reading.run_bytes()));
  return weight_bytes() + cache_bytes() + bytes;
}

EncryptedWeights::EncryptedWeights(const std::string& path, TextProgram& program)
    : path_(path), file_(path, *program.context, kMaxWeights) {
  const auto& heads = file_.reader.heads();
  const std::vector<PlanEnd>& ends = program.weights;
  if (ends.empty()) throw Error("the program has its weights; leave --weights out");
  if (file_.note.program_id != program.program_id())
    throw Error(message(path, " holds the weights of another program"));
  bool fits = file_.note.names == names_of(ends) && heads.size() == ends.size();
  for (size_t i = 0; fits && i < ends.size(); ++i) fits = is_at(heads[i], ends[i].level, *program.context);
  if (!fits)
    throw Error(message(path, " does not hold the weights that its program asks for; encrypt them anew"));
  program.id = file_.note.request;
}

Ciphertexts EncryptedWeights::read(ckks::Fingerprint keys) {
  if (file_.reader.fingerprint() != keys)
    throw Error(message("the weights of ", path_,
                        " are under another key pair than the prompts: two parties' secrets cannot be "
                        "computed on together; one party must own model and data, and encrypt both"));
  Ciphertexts weights;
  const std::vector<std::string>& names = file_.note.names;
  Progress progress("reading weights", static_cast<double>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    weights.emplace(names[i], file_.reader.load(i));
    progress.set(static_cast<double>(i + 1));
  }
  return weights;
}

}  // namespace psm::cmd
