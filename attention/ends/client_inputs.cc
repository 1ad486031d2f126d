#include <cmath>
#include <utility>

#include "attention/ends/client_model.h"
#include "ckks/base/error.h"

namespace psm::attention {
namespace {

// E[token] of each token, or the class token and the embedded patches; and their positions.
std::vector<double> embed(const ClientModel& w, const Examples& examples, size_t example, int first) {
  const size_t d = static_cast<size_t>(w.shape.width);
  std::vector<double> x;
  if (w.shape.patch_inputs == 0) {
    for (int token : examples.texts[example]) {
      const float* row = w.embedding.data() + static_cast<size_t>(token) * d;
      x.insert(x.end(), row, row + d);
    }
  } else {
    const size_t inputs = static_cast<size_t>(w.shape.patch_inputs);
    const std::span<const float> image = examples.images[example];
    x.assign(w.class_token.begin(), w.class_token.end());
    for (size_t patch = 0; patch < image.size(); patch += inputs)
      for (size_t f = 0; f < d; ++f) {
        double sum = static_cast<double>(w.patch_bias[f]);
        for (size_t i = 0; i < inputs; ++i)
          sum += static_cast<double>(w.patch_weight[f * inputs + i]) * static_cast<double>(image[patch + i]);
        x.push_back(sum);
      }
  }
  if (w.shape.learned_positions)
    for (size_t i = 0; i < x.size(); ++i)
      x[i] += static_cast<double>(w.position_embedding[static_cast<size_t>(first) * d + i]);
  if (w.shape.separator > 0) {
    std::vector<int> types;
    append_token_types(examples.texts[example], w.shape.separator, types);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] += static_cast<double>(w.type_embedding[static_cast<size_t>(types[i / d]) * d + i % d]);
  }
  return x;
}

}  // namespace

SlotVectors client_inputs(const ClientModel& model, const Examples& examples, int first) {
  const ClientShape& shape = model.shape;
  const Places& packing = model.packing;
  require_readable(shape, examples);
  const size_t d = static_cast<size_t>(shape.width);
  const std::vector<double>& scale = model.residual_scale;
  std::vector<std::vector<double>> states, normalised;
  std::vector<int> lengths;
  for (size_t e = 0; e < examples.size(); ++e) {
    lengths.push_back(examples.length(shape, e));
    if (first < 0 || first + lengths.back() > shape.context)
      throw Error(message(lengths.back(), " tokens from place ", first, " on; the model has ", shape.context,
                          "; shorten the text, or take generate --window slide"));
    if (packing.length > 0 && lengths.back() != packing.length)
      throw Error(message("an image of ", lengths.back() - 1, " patches; encrypted, this model takes ",
                          packing.length - 1, "; give one of this size"));
    Centred state = centre(embed(model, examples, e, first), shape);
    std::vector<double> norm = state.x;
    for (size_t i = 0; i < norm.size(); ++i) {
      norm[i] /= std::sqrt(state.variance[i / d] + shape.norm_epsilon);
      state.x[i] /= scale[i % d];
    }
    states.push_back(std::move(state.x));
    normalised.push_back(std::move(norm));
  }
  SlotVectors inputs;
  auto pack = [&](const char* name, std::span<const std::vector<double>> of_prompts) {
    auto packed = pack_states(packing, shape.width, of_prompts);
    const std::vector<std::string> names = ciphertext_names(name, packing.state_ciphertexts());
    for (size_t c = 0; c < names.size(); ++c) inputs[names[c]] = std::move(packed[c]);
  };
  if (shape.sends_state) pack("x", states);
  pack("h", normalised);
  if (packing.has_length_mask()) inputs["lengths"] = pack_lengths(packing, lengths, shape.power);
  return inputs;
}

}  // namespace psm::attention
