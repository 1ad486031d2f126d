#include "attention/encrypted/encrypted_cache.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ckks/base/error.h"

namespace psm::attention {

ckks::Plain cache_key_mask(const Packing& packing, const std::vector<double>& theta, int first, int last) {
  const size_t F = static_cast<size_t>(packing.features);
  std::vector<ckks::Complex> mask(static_cast<size_t>(packing.tokens) * F);
  for (int u = first; u < last; ++u)
    for (size_t f = 0; f < F; ++f) mask[u * F + f] = std::polar(1.0, theta[f % theta.size()] * u);
  return ckks::Plain(std::move(mask));
}

ckks::Plain cache_value_mask(const Packing& packing, double factor, int first, int last) {
  const size_t F = static_cast<size_t>(packing.features);
  std::vector<ckks::Complex> mask(static_cast<size_t>(packing.tokens) * F);
  std::fill(mask.begin() + first * packing.features, mask.begin() + last * packing.features, factor);
  return ckks::Plain(std::move(mask));
}

std::string cache_name(const Packing& packing, int layer, const char* what, int ciphertext) {
  std::string text = "layer " + std::to_string(layer) + " / " + what;
  if (packing.key_ciphertexts() > 1) text += " " + std::to_string(ciphertext);
  return text;
}

std::vector<std::string> cache_names(const Packing& packing, int layers) {
  std::vector<std::string> names;
  for (int n = 0; n < layers; ++n)
    for (int c = 0; c < packing.key_ciphertexts(); ++c)
      for (const char* what : {"keys", "values"}) names.push_back(cache_name(packing, n, what, c));
  return names;
}

program::Constants prompt_constants(const program::Program& program, const Packing& packing, int layers,
                                    int tokens) {
  require_one_sequence(packing, tokens);
  const std::vector<std::string> list = cache_names(packing, layers);
  const std::set<std::string> names(list.begin(), list.end());
  std::vector<const program::Instruction*> makers(
      static_cast<size_t>(program.value_count()));  // by first result
  for (const program::Instruction& instruction : program.instructions)
    makers[static_cast<size_t>(instruction.results[0].id)] = &instruction;
  std::map<ckks::Plain::Identity, ckks::Plain> cut;  // the mask of keys is one for all layers
  program::Constants constants;
  for (const program::NamedValue& output : program.outputs) {
    if (!names.contains(output.name)) continue;
    const program::Instruction* const made = makers[static_cast<size_t>(output.value.id)];
    PSM_CHECK(made != nullptr && made->opcode == program::Opcode::kMultiplyPlain);
    const auto [found, is_new] = cut.try_emplace(made->plain.identity());
    if (is_new) {
      std::vector<ckks::Complex> mask = made->plain.to_vector();
      std::fill(mask.begin() + static_cast<ptrdiff_t>(tokens) * packing.features, mask.end(), 0.0);
      found->second = ckks::Plain(std::move(mask));
    }
    constants.push_back(*made);
    constants.back().plain = found->second;
  }
  return constants;
}

void require_one_sequence(const Packing& packing, int tokens) {
  if (packing.prompts != 1)
    throw Error(message("keys and values are kept for one sequence, but this packing holds ", packing.prompts,
                        " prompts; pack one"));
  if (tokens < 1 || tokens > packing.tokens)
    throw Error(message("keys and values of ", tokens, " tokens; a cache of this packing holds 1 to ",
                        packing.tokens));
}

}  // namespace psm::attention
