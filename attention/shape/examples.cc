#include "attention/shape/examples.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"

namespace psm::attention {

int Examples::length(const Readable& model, size_t example) const {
  return images.empty() ? static_cast<int>(texts[example].size())
                        : static_cast<int>(images[example].size()) / model.patch_inputs + 1;
}

void require_readable(const Readable& model, std::span<const int> tokens) {
  if (model.patch_inputs > 0) throw Error("the model reads patches, not tokens; give it an image");
  if (tokens.empty()) throw Error("the prompt is empty; give at least one token");
  if (tokens.size() > static_cast<size_t>(model.context))
    throw Error(message("the prompt has ", tokens.size(), " tokens but the model's context is ",
                        model.context, "; shorten it"));
  for (int token : tokens)
    if (token < 0 || token >= model.vocab)
      throw Error(message("token ", token, " is not in the model's vocabulary of ", model.vocab,
                          "; use tokens from 0 to ", model.vocab - 1));
}

void require_readable(const Readable& model, std::span<const float> patches) {
  const size_t inputs = model.patch_inputs, count = inputs == 0 ? 0 : patches.size() / inputs;
  if (inputs == 0) throw Error("the model reads tokens, not patches; give it a prompt");
  if (count == 0 || patches.size() % inputs != 0 || count + 1 > static_cast<size_t>(model.context))
    throw Error(message("an image of ", patches.size(), " numbers for a model of 1 to ", model.context - 1,
                        " patches of ", inputs, "; cut it into whole patches"));
  if (!std::all_of(patches.begin(), patches.end(), [](float x) { return std::isfinite(x); }))
    throw Error("the image holds a value that is not finite; mend the data");
}

void require_readable(const Readable& model, const Examples& examples) {
  for (const std::span<const int> text : examples.texts) require_readable(model, text);
  for (const std::span<const float> image : examples.images) require_readable(model, image);
}

void append_token_types(std::span<const int> text, int separator, std::vector<int>& types) {
  const auto end = std::find(text.begin(), text.end(), separator);
  for (auto token = text.begin(); token != text.end(); ++token) types.push_back(token > end);
}

int longest_prompt(const Readable& model) {
  return model.patch_inputs > 0 ? (model.context - 1) * model.patch_inputs : model.context;
}

}  // namespace psm::attention
