// The client's two ends of an encrypted model, and the parts of the model that they need: embedding, residual
// ranges, final norm and unembedding. There is no layer and no program here.
//
// The client embeds its prompts (tokens or patches, with learned positions and token types), removes the mean of every
// token's features if the norm is LayerNorm, and sends
//     x'  = (E[token] - mean) / R         (residual_scale; input "x", or "x0", "x1" ... of a wide model)
//     h'  = N without gamma, beta          (input "h" ...)
// For a kPostNorm model, whose first norm is before the first block, it sends h' alone. For bidirectional
// models of texts it also sends the mask of their lengths (input "lengths", slots filled by pack_lengths).
//
// For a language model the client decrypts x' after the last layer (output "y" ...), multiplies by R and
// applies the final norm and the unembedding. For a classifier it decrypts the logits (output "logits" ...).
// The paper's timing also leaves embedding and unembedding to the client.
#pragma once

#include <complex>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attention/ends/places.h"
#include "attention/shape/examples.h"

namespace psm::attention {

using SlotVectors = std::map<std::string, std::vector<std::complex<double>>>;

// The part of the model's shape (attention/shape/config.h) that the client's two ends need; nothing about its
// layers.
struct ClientShape {
  int vocab = 0, context = 0, width = 0, classes = 0, patch_inputs = 0;
  double norm_epsilon = 0;
  bool removes_mean = true;  // LayerNorm
  bool learned_positions = false;
  bool final_norm = true;   // in front of the unembedding
  bool sends_state = true;  // x'; false if the first norm is before the first block
  int power = 0;            // of PowerSoftmax, which masks of lengths go by
  int separator = 0;        // the token that ends the first of two texts; 0: no token types

  int logit_count() const { return classes > 0 ? classes : vocab; }
  bool operator==(const ClientShape&) const = default;
};

enum class ModelEnd { kInputs, kOutputs };

struct ClientModel {
  ClientShape shape;
  Places packing;
  std::vector<double> residual_scale;  // R of each real feature
  // As in ModelWeights (attention/shape/weights.h); empty if the model has none.
  std::vector<float> embedding, position_embedding, type_embedding, class_token, patch_weight, patch_bias;
  std::vector<float> final_gamma, final_beta, unembedding;

  // Calls f(name, values, wanted, end) for every list of floats. `wanted` is the length by the shape, `end`
  // the end that uses it.
  template <typename Model, typename Function>
  static void for_each_list(Model& m, const Function& f) {
    const ClientShape& c = m.shape;
    const auto size = [](bool has, int a, int b) {
      return has ? static_cast<size_t>(a) * static_cast<size_t>(b) : 0;
    };
    const bool patches = c.patch_inputs > 0, speaks = c.classes == 0;
    const auto in = ModelEnd::kInputs, out = ModelEnd::kOutputs;
    f("embedding", m.embedding, size(!patches, c.vocab, c.width), in);
    f("positions", m.position_embedding, size(c.learned_positions, c.context, c.width), in);
    f("token types", m.type_embedding, size(c.separator > 0, 2, c.width), in);
    f("class token", m.class_token, size(patches, c.width, 1), in);
    f("patch weight", m.patch_weight, size(patches, c.width, c.patch_inputs), in);
    f("patch bias", m.patch_bias, size(patches, c.width, 1), in);
    f("final gamma", m.final_gamma, size(speaks && c.final_norm, c.width, 1), out);
    f("final beta", m.final_beta, size(speaks && c.final_norm && c.removes_mean, c.width, 1), out);
    f("unembedding", m.unembedding, size(speaks, c.vocab, c.width), out);
  }
};

// Rows without their mean (for LayerNorm), and the variance or mean square of each.
struct Centred {
  std::vector<double> x, variance;
};
Centred centre(std::span<const double> rows, const ClientShape&);

// "x", or "x0", "x1" ... if there are several ciphertexts.
std::vector<std::string> ciphertext_names(const std::string& name, int count);

// The first end (client_inputs.cc): the inputs of the program by name. Throws psm::Error on too many
// examples, on examples that the model cannot read (examples.h), and on images with fewer patches than the
// model's context has room for. `first`: the place of each text's first token.
SlotVectors client_inputs(const ClientModel&, const Examples&, int first = 0);

// The second end (client_logits.cc): logits of each example, [tokens][vocab], or [classes] of a classifier.
// Only the number and lengths of the examples matter.
std::vector<std::vector<double>> client_logits(const ClientModel&, const SlotVectors& outputs,
                                               const Examples&);

}  // namespace psm::attention
