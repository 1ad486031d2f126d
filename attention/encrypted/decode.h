// One further token on ciphertexts: a slot program that takes token t of a sequence and the keys and values
// of the tokens before it (encrypted_cache.h), and gives the token's new state and the caches with its own
// added.
//
// State. x' and h' of the one token, in every place of token-major packing (packing.h): they repeat with F,
// and all rotations are cyclic in the features. That is what client_inputs makes of a prompt of one token,
// and client_logits reads the result as of such a prompt. A place is F slots; there are P = slots / F. The
// matrix in front is dense (nn/encrypted/dense_linear.h): all rows of q, k, v and up come in regions of one
// ciphertext where they fit. Hidden units are spread (nn/encrypted/spread_linear.h): real and imaginary parts
// side by side, for one polynomial, and turned so that the map behind GELU comes out in all places.
//
// A layer, for each ciphertext of heads (C features a head, u a place of the cache, s = row_sum_factor, v_max
// = value_range, weights as folded_weights.h has them), with r of the norm (nn/encrypted/encrypted_norm.h),
// the same in all slots, so that what is in brackets is there when r is; b as the mask leaves it:
//   project     z = (W; W_up) x'                                      a dense map: q, k, v / v_max, up
//   query       q~ = r [|s|^{1/p} (t + 1)^{-1/p} e^{i theta t} z] + b a mask; rotations fill all places
//   cache       K <- K + r [[u = t] e^{i theta t} z] + b              two rotations to the place, and a mask
//               V <- V + r [[u = t] z / |s|] + b
//   scores      S[u, f] = sum over the head of f of Re(conj q~ K[u])  a product, a sum inside heads
//               with score offsets c:   + |s|^{1/p} (t + 1)^{-1/p} c [u <= t]
//   power       P = S^p
//   sums        |s| D = sum_u P                                       rotations; period F again
//   attention   sum_u P (V / (D + epsilon))                           1/x of the one row sum of each head
//   gelu        of Re(r [spread z] + b)                               a mask, rotations, a map
//   output      x' <- x' + W_o attention + W_down gelu + b            a dense map and a mask; a spread map
// A place u > t of the cache is zero, so S and S^p are: PowerSoftmax needs no mask for the length. The sum of
// the powers comes replicated over the head, without the level of the pass's row sums; s stands in q~ and V
// instead (its sign, where s < 0, in a negation of D).
//
// Weights are plaintexts, or inputs (nn/encrypted/weight_inputs.h): W, b, c, and the ranges of the features
// in 1/sqrt's argument. Then the program holds the model's shape and the intervals of its polynomials, and
// nothing else of it: whoever has the ciphertexts computes a token without knowing the model. Products of ciphertexts take the
// levels of products with plaintexts, so plan and levels are the same; a layer of one ciphertext of heads has
// a relinearisation more for each output of a map, and one for the norm.
//
// Shapes: the caches have period T F = Packing::period(), of one sequence; what is in regions or spread all
// slots; all else F. The program depends on t in constants alone (position_constants.h).
//
// Levels: to q, k, v and up 2 + products_depth() of 1/sqrt (1 for the matrix and 2 for masks pass in that
// time; 3 where h' is given). Then through attention 2 (scores) + ceil(log2 p) + 1 (values) + 2 (output), and
// in parallel, from the powers, depth of 1/x + 2; through the hidden units depth of gelu + 1. A cache keeps
// its level: what is added to it comes down to it. Which level that is, LevelBudget::carried says to the
// planner, for the prompt's program as well.
//
// Key-switches of a layer with one ciphertext of heads, besides those inside 1/sqrt, 1/x and GELU, with B
// and S of each dense map, U and B' of the spread one, and sigma of Builder::sum_of_rotations: norm 3 +
// sigma(F); a dense map 1 + 2 (B - 1) hoisted + sigma(S); query sigma(P); cache 4 + 2 sigma(P / T); hidden
// units sigma(U) + 1 and the spreading; scores 3 and block_sum_map's; power ceil(log2 p) (where p is a power
// of two); sums 2 + 2 sigma(T); output 2 sigma(P) + B' - 1 hoisted.
//
// Ranges: as the pass's. Errors: a bootstrap's wherever one is put; scores are no refresh candidates, all
// others are those of the block.
#pragma once

#include "attention/encrypted/encrypted_model.h"
#include "attention/encrypted/position_constants.h"
#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::attention {

enum class Weights {
  kPlain,      // the program's own
  kEncrypted,  // inputs of it, like the token and the caches
};

// Inputs: those of build_program and the caches (cache_names). Outputs: the state and the caches.
struct DecodeProgram {
  program::Program at(int position) const;  // from 0 to T - 1

  program::Program program;  // at position 0
  PositionConstants constants;
  std::vector<nn::WeightInput> weights;  // where they are inputs, all of them
};

// Throws psm::Error on a packing of several prompts or of less than four places (slots / F).
DecodeProgram build_decode_program(const PolynomialModel&, const Packing&, Weights = Weights::kPlain,
                                   program::PlainKeeper* keeper = nullptr);

// Builds the program of a model that exists only as a shape, for the meter.
DecodeProgram build_decode_shape_program(const ModelConfig&, const Packing&, const ShapeRanges& = {},
                                         const PolynomialOptions& = {}, Weights = Weights::kPlain);

}  // namespace psm::attention
