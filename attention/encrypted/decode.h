// One further token on ciphertexts: a slot program that takes token t of a sequence and the cached keys and
// values of the tokens before it (encrypted_model.h). It returns the token's new state, and the caches with
// its key and value added.
//
// State. x' and h' of the one token are in every place of token-major packing (packing.h). They repeat with
// F, and all rotations are cyclic in the features. client_inputs makes them from a prompt of one token at place t,
// and client_logits reads the result like that of such a prompt. A place is F slots; there are P = slots / F
// places. The first matrix is dense (nn/encrypted/dense_linear.h): all rows of q, k, v and up are in regions
// of one ciphertext if they fit. Hidden units are spread (dense_linear.h too): real and imaginary
// parts are side by side, for one polynomial, and turned so that the map after GELU gives its result in all
// places.
//
// A parallel layer, for each ciphertext of heads, and the one of keys that it shares (packing.h). C is the number of
// features a head, u a place of the cache, s = row_sum_factor, v_max = value_range, weights are those of
// folded_weights.h, and b is the bias after the mask. r is the norm's factor (nn/encrypted/encrypted_norm.h), the same
// in all slots; terms in brackets are computed while r is.
//   project     z = (W; W_up) x'                                      a dense map: q, k, v / v_max, up
//   query       q~ = r [|s|^{1/p} (t + 1)^{-1/p} e^{i theta t} z] + b a mask; rotations fill all places
//   cache       K <- K + r [[u = t] e^{i theta t} z] + b              two rotations to the place, and a mask
//               V <- V + r [[u = t] z / |s|] + b
//   scores      S[u, f] = sum over the head of f of Re(conj q~ K[u])  a product, a sum inside heads
//               with score offsets c:   + |s|^{1/p} (t + 1)^{-1/p} c [u <= t]
//   power       P = S^p
//   sums        |s| D = sum_u P                                       rotations; period F again
//   attention   sum_u P (V / (D + epsilon))                           1/x of the one row sum of each head
//   hidden      gelu, or silu times up, of Re(r [spread z] + b)       a mask, rotations, a map each
//   output      x' <- x' + W_o attention + W_down hidden + b          a dense map and a mask; a spread map
// A pre-norm layer adds W_o attention + b to x' first. Another norm and another dense map then make z for the hidden
// units.
// A place u > t of the cache is zero, and so are S and S^p: PowerSoftmax needs no mask for the length. The
// sum of the powers is replicated over the head, without the level that a pass's row sums take. s is folded
// into q~ and V instead; if s < 0, its sign becomes a negation of D.
//
// Weights are plaintexts, or inputs (nn/encrypted/weight_inputs.h): W, b, c, and the ranges of the features
// in 1/sqrt's argument. With inputs the program holds only the model's shape and the intervals of its
// polynomials, so a server computes a token without knowing the model. Products of ciphertexts take the same
// levels as products by plaintexts, so the plan is the same. A layer of one ciphertext of heads has one
// relinearisation more for each output of a map, and one for the norm.
//
// Periods: the caches have T F = Packing::period(), of one sequence; values in regions and spread values fill
// all slots; all others have F. The program depends on t only through constants (PositionConstants).
//
// Levels: q, k, v and up take 2 + products_depth() of 1/sqrt, in which the 1 for the matrix and 2 for masks
// are hidden; they take 3 in the first layer, which is given h'. So does up of a pre-norm layer. Then attention takes 2 (scores) +
// ceil(log2 p) + 1 (values) + 2 (output), and in parallel, from the powers on, depth of 1/x + 2. The hidden units take
// depth of gelu + 1, one more in SwiGLU. A cache keeps its level: additions are lowered to it. CarriedLevels
// tell the planner this level, also for the prompt's program.
//
// Key switches of a layer with one ciphertext of heads, without those inside 1/sqrt, 1/x and GELU. B and S
// belong to each dense map, U and B' to the spread one, sigma is that of Builder::sum_of_rotations: norm 3 +
// sigma(F); a dense map 1 + 2 (B - 1) hoisted + sigma(S); query sigma(P); cache 4 + 2 sigma(P / T); hidden
// units sigma(2 U) and the spreading; scores 3 and block_sum_map's; power ceil(log2 p) (if p is a power of
// two); sums 2 + 2 sigma(T); output 2 sigma(P) + B' - 1 hoisted.
//
// Ranges are those of the pass. The block's refresh candidates are used, without the scores. Each bootstrap
// adds its error.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attention/encrypted/encrypted_model.h"
#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"
#include "nn/encrypted/weight_inputs.h"

namespace psm::attention {

// The parts of a decoding program that depend on the token's position t: plaintexts, and rotations to the
// token's place in a cache. Levels and instructions do not, so one plan serves all positions (program::Constants).
//
// A rotation by up to P places leads from a region to place t. It is made of two rotations, near + far, of G
// and P / G kinds, none of them zero. So all positions have the same instructions, and keys are needed for G
// + P / G offsets instead of P:
//     near in {1, ..., G},   far in {1, G + 1, 2 G + 1, ...},   near + far = region - t  modulo P,  G ~ sqrt P.
class PositionConstants {
 public:
  using PlainAt = std::function<ckks::Plain(int position)>;
  // Instructions that share a function share its plaintexts.
  using Plains = std::shared_ptr<const PlainAt>;

  explicit PositionConstants(const Packing& packing) : packing_(packing) {}

  // Those of the token at `position`, from 0 to T - 1.
  program::Constants at(int position) const;

  // Appended to a program, as position 0 has them.
  program::Value multiply(program::Builder&, program::Value, const Plains&);
  program::Value add(program::Builder&, program::Value, const Plains&);
  // What is in place `from`, in the token's.
  program::Value to_place(program::Builder&, program::Value, int from);

 private:
  struct Constant {
    program::Value result;
    Plains plain;  // null: a rotation
    std::function<int(int position)> offset;
  };
  program::Value keep(program::Value made, Plains plain, std::function<int(int position)> offset);
  int near_places() const;  // G

  Packing packing_;
  std::vector<Constant> constants_;
};

// Inputs: those of build_program and the caches (cache_names). Outputs: the state and the caches.
struct DecodeProgram {
  program::Program program;  // at position 0
  PositionConstants constants;
  std::vector<nn::WeightInput> weights;  // where they are inputs, all of them
};

// `encrypted_weights`: they are inputs of the program, like the token and the caches, and not its own. Throws
// psm::Error on a packing of several prompts or of fewer than four places (slots / F).
DecodeProgram build_decode_program(const PolynomialModel&, const Packing&, bool encrypted_weights = false,
                                   program::PlainKeeper* keeper = nullptr);

}  // namespace psm::attention
