// The client's two ends of an encrypted model, and what of the model they take: embedding, residual ranges, final norm
// and unembedding. No layer is here, and no program.
//
// The client embeds its prompts (tokens or patches, with their positions if those are learned), removes the mean of
// every token's features where LayerNorm would, and sends
//     x'  = (E[token] - mean) / R         (residual_scale; input "x", or "x0", "x1" ... of a wide model)
//     h'  = N without gamma, beta          (input "h" ..., where sends_normalised)
// or of a kPostNorm model, whose first norm is before the first block, h' alone; and of bidirectional models of texts
// the mask of their lengths (input "lengths", ckks slots as pack_lengths fills them).
//
// For a language model the client decrypts x' after the last layer (output "y" ...), multiplies by R and
// applies the final norm and the unembedding; for a classifier it decrypts the logits (output "logits" ...).
// Embedding and unembedding are the client's, as in the paper's timing.
#pragma once

#include <complex>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attention/ends/packing.h"
#include "attention/shape/config.h"
#include "attention/shape/examples.h"

namespace psm::attention {

using SlotVectors = std::map<std::string, std::vector<std::complex<double>>>;

struct ClientModel {
  ModelConfig config;
  Packing packing;
  bool sends_normalised = false;
  std::vector<double> residual_scale;  // R of each real feature
  // As ModelWeights has them (attention/shape/weights.h); empty where the model has none.
  std::vector<float> embedding, position_embedding, class_token, patch_weight, patch_bias;
  std::vector<float> final_gamma, final_beta, unembedding;

  // Calls f(name, values, wanted) for every list of floats, with the length that the configuration asks for.
  template <typename Model, typename Function>
  static void for_each_list(Model& model, const Function& f);
};

// "x", or "x0", "x1" ... where the state takes several ciphertexts.
std::string input_name(const Packing&, const char* name, int ciphertext);
std::string class_output(const Packing&, int ciphertext);

// The inputs of the program by name. Throws psm::Error on examples that are too many, or that the model
// cannot read (examples.h); on images of fewer patches than the model's context has room for.
SlotVectors client_inputs(const ClientModel&, const Examples&);

// From the outputs of the program: logits of each example, [tokens][vocab], or [classes] of a classifier. Of
// the examples only their number and lengths count.
std::vector<std::vector<double>> client_logits(const ClientModel&, const SlotVectors& outputs,
                                               const Examples&);

template <typename Model, typename Function>
void ClientModel::for_each_list(Model& m, const Function& f) {
  const ModelConfig& c = m.config;
  const auto size = [](int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); };
  const bool patches = c.patch_inputs > 0, speaks = c.classes == 0;
  f("embedding", m.embedding, patches ? 0 : size(c.vocab, c.width));
  f("positions", m.position_embedding, c.positions == PositionKind::kLearned ? size(c.context, c.width) : 0);
  f("class token", m.class_token, patches ? size(c.width, 1) : 0);
  f("patch weight", m.patch_weight, patches ? size(c.width, c.patch_inputs) : 0);
  f("patch bias", m.patch_bias, patches ? size(c.width, 1) : 0);
  f("final gamma", m.final_gamma, speaks && c.has_final_norm() ? size(c.width, 1) : 0);
  f("final beta", m.final_beta,
    speaks && c.has_final_norm() && c.norm == NormKind::kLayerNorm ? size(c.width, 1) : 0);
  f("unembedding", m.unembedding, speaks ? size(c.vocab, c.width) : 0);
}

}  // namespace psm::attention
