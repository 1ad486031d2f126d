// One further token on ciphertexts: a slot program that takes token t of a sequence and the keys and values
// of the tokens before it (encrypted_cache.h), and gives the token's new state and the caches with its own
// added.
//
// State. x' and h' of the one token, in every place of token-major packing (packing.h): they repeat with F,
// and all rotations are cyclic in the features. That is what client_inputs makes of a prompt of one token,
// and client_logits reads the result as of such a prompt. Several blocks of F features stand side by side in
// one ciphertext (nn/encrypted/stacked_linear.h): q, k, v and an empty one; the parts of GELU, as many as
// there are, up to slots / F.
//
// A layer, for each ciphertext of heads (C features a head, u a place of the cache, s = row_sum_factor, v_max
// = value_range, weights as folded_weights.h has them):
//   norm        h' = x' r                                             nn/encrypted/encrypted_norm.h
//   project     (q, k, v / v_max, 0) = W h' + b,   up = W_up h' + b   two outputs, of period 4 F and more
//   query       q~ = |s|^{1/p} (t + 1)^{-1/p} e^{i theta t} q         a mask; 2 rotations fill all places
//   cache       K <- K + [u = t] e^{i theta t} k                      a rotation to the place, and a mask
//               V <- V + [u = t] v / |s|
//   scores      S[u, f] = sum over the head of f of Re(conj q~ K[u])  a product, a sum inside heads
//               with score offsets c:   + |s|^{1/p} (t + 1)^{-1/p} c [u <= t]
//   power       P = S^p
//   sums        |s| D = sum_u P,   O = sum_u P V                      log2 T rotations each; period F again
//   attention   O / (D + epsilon)                                     1/x of the one row sum of each head
//   output      x' <- x' + W_o attention + W_down gelu(up) + b        one linear map; places summed
// A place u > t of the cache is zero, so S and S^p are: PowerSoftmax needs no mask for the length. The sum of
// the powers comes replicated over the head, without the level of the pass's row sums; s stands in q~ and V
// instead (its sign, where s < 0, in a negation of D).
//
// Shapes: the caches have period T F = Packing::period(), of one sequence; all else F times a power of two.
// The program depends on t in constants alone, PositionConstants: the query mask and the cache masks (3
// plaintexts for each ciphertext of heads), score offsets, and the hoisted rotations to the place in the
// cache, by F to 4 F. By 4 F, the period, nothing moves: the rotation is there so that all positions have the
// same instructions. One plan serves them all (with_constants in planner.h).
//
// Levels: as the block's (encrypted_block.h): 1 (project) + 1 (query) + 2 (scores) + ceil(log2 p) + depth of
// 1/x + 1 (division) + 1 (output) through attention; from K 2 + ceil(log2 p) to the powers; 3 from V. A cache
// keeps its level: what is added to it comes down to it. Which level that is, LevelBudget::carried says to
// the planner, for the prompt's program as well.
//
// Key-switches of a layer with one ciphertext of heads, besides those inside 1/sqrt, 1/x and GELU, B of
// choose_linear_steps: norm 3 + log2 F; project 1 + 2 (B - 1) hoisted + 2 (F / B - 1); query and cache 2 + 2
// hoisted; scores 3 and block_sum_map's; power ceil(log2 p) (where p is a power of two); sums 1 + 2 log2 T;
// division 1; GELU 2; output 2 + 4 (B - 1) hoisted + F / B - 1 + log2 of the places.
//
// Ranges: as the pass's. Errors: a bootstrap's wherever one is put; scores are no refresh candidates, all
// others are those of the block.
#pragma once

#include "attention/encrypted/encrypted_model.h"
#include "attention/encrypted/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"

namespace psm::attention {

// What of a decoding program depends on the token's position.
class PositionConstants {
 public:
  // Those of the token at `position`, from 0 to T - 1.
  program::Constants at(int position) const;

 private:
  friend class Decoder;
  enum class Kind { kQueryMask, kPlaces, kKeyMask, kValueMask, kScoreOffsets };
  // Of a layer.
  struct Factors {
    double score = 1, value_mask = 1;  // |s|^{1/p};  v_max / |s|
    std::vector<std::vector<double>> score_offset;
  };
  struct Constant {
    Kind kind;
    size_t layer, ciphertext;
    program::Instruction instruction;  // of position 0
  };

  double score_scale(const Factors&, int position) const;
  ckks::Plain query_mask(const Factors&, int position) const;
  ckks::Plain score_offsets(const Factors&, size_t ciphertext, int position) const;
  std::vector<int> places(int position) const;

  Packing packing_;
  int power_ = 4;
  std::vector<double> theta_;
  std::vector<Factors> layers_;
  std::vector<Constant> constants_;
};

// Inputs: those of build_program and the caches (cache_names). Outputs: the state and the caches.
struct DecodeProgram {
  program::Program at(int position) const;  // from 0 to T - 1

  program::Program program;  // at position 0
  PositionConstants constants;
};

// Throws psm::Error on a packing of several prompts or of at most four places (slots / F).
DecodeProgram build_decode_program(const PolynomialModel&, const Packing&);

// Of a model that exists only as a shape, for the meter.
DecodeProgram build_decode_shape_program(const ModelConfig&, const Packing&, const ShapeRanges& = {},
                                         const PolynomialOptions& = {});

}  // namespace psm::attention
