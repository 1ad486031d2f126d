// A classifier's head on ciphertexts: logits of the first token (the class token of a model of patches).
//
//     x_0 in place of all tokens     a mask of token 0, and a sum over the tokens' rotations
//     h = x_0 r                      the final norm (nn/encrypted/encrypted_norm.h); for kPostNorm the state is
//                                    already h
//     logits = C' h + c'             or, with a pooler, C' sigmoid(D' h + e') + c
//
// D' = D diag(gamma unit) input_scale / 2, e' = (e + D beta) input_scale / 2, C' = C output_scale of the
// sigmoid; without a pooler C' = C diag(gamma unit), c' = c + C beta. Notation of folded_weights.h. The
// logits are in units of 1 and in the slots of every token, as packing.h has `classes`.
//
// Levels: 1 (the token) + 2 + depth of 1/sqrt + 1 (final norm) + 1 (D) + depth of the sigmoid + 1 (C).
// Key-switches: sigma(T) rotations for each ciphertext of the state, and those of norm, maps and sigmoid.
// Ranges: those of the final norm's variance and of the sigmoid's argument hold in every slot, because all
// slots have the first token.
#pragma once

#include <optional>
#include <vector>

#include "approx/approximation.h"
#include "attention/encrypted/slot_layout.h"
#include "ckks/program/program.h"

namespace psm::attention {

struct FoldedHead {
  std::optional<approx::Approximation> inverse_sqrt, sigmoid;  // of a final norm, of a pooler
  FoldedNorm norm;
  nn::SlotMatrix pooler, classes;
  std::vector<ckks::Plain> pooler_bias, class_bias;
};

// Folds the head of a classifier.
FoldedHead fold_head(const PolynomialModel&, const Packing&);

// Computes the logits from x', or from h' of a kPostNorm model.
std::vector<program::Value> encrypted_head(program::Builder&, const std::vector<program::Value>& state,
                                           const FoldedHead&, const Packing&);

}  // namespace psm::attention
