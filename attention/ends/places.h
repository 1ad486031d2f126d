// The places of a client's vectors in ciphertexts: the token-major complex packing of a program's inputs and
// outputs. packing.h has the places inside.
//
//     slot = prompt (T F) + t F + f               of ciphertext c,  for complex feature c F + f of token t
//     slot = t (prompts F) + prompt F + f         the same of a bidirectional model
//
// T tokens (a power of two), F complex features a ciphertext (a power of two), slots / (T F) places for
// prompts. If fewer prompts are wanted at once (a power of two), they repeat over the places. All slots and
// masks then have the period prompts T F, and the planner may use sparse bootstraps. A complex feature holds
// two real ones, in re and im:
//   state    (residual stream)   state_layout()
//   classes                      logits i and i + classes/2
// A rotation by k token_stride() moves tokens. If prompts follow one another, it runs into the neighbouring
// prompt, which the causal mask removes. If prompts are interleaved token by token, it is cyclic in the
// tokens of every prompt, which bidirectional attention needs, because all pairs count. Models wider than a
// ciphertext (T d / 2 > slots) spread over several ciphertexts.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace psm::attention {

// The real features in the real and in the imaginary parts; -1 if there is none (zero).
struct FeatureLayout {
  std::vector<int> re, im;
  int reals = 0;  // so many of the last, in whole ciphertexts, have no imaginary parts
  int size() const { return static_cast<int>(re.size()); }
  bool is_real(int feature) const { return feature >= size() - reals; }
  bool operator==(const FeatureLayout&) const = default;
};

// The layout of `real_features` features in pairs (i, i + half), in whole ciphertexts of `features`.
FeatureLayout halves(int real_features, int features);
// The state's layout. If `features` or fewer are left for a last ciphertext, they are its real parts: a bootstrap of a
// real ciphertext is cheaper. The others are halves.
FeatureLayout state_layout(int width, int features);

struct Places {
  size_t slots = 0;
  int tokens = 0;    // T
  int features = 0;  // F
  int prompts = 0;   // different ones that share the ciphertexts
  bool causal = true;
  // Bidirectional: the tokens of every sequence, if all have the same number (patches and their class token).
  // 0 if lengths differ: then a mask comes with the prompts.
  int length = 0;
  FeatureLayout state{}, classes{};

  // Slots from a token of a prompt to its next one, and from a prompt to the next.
  int token_stride() const { return causal ? features : prompts * features; }
  int prompt_stride() const { return causal ? tokens * features : features; }
  bool has_length_mask() const { return !causal && length == 0; }
  size_t period() const {
    return static_cast<size_t>(prompts) * static_cast<size_t>(tokens) * static_cast<size_t>(features);
  }
  int state_ciphertexts() const { return state.size() / features; }
  bool is_real_state(int ciphertext) const { return state.is_real(ciphertext * features); }
  int class_ciphertexts() const { return classes.size() / features; }  // 0 for a language model
  bool operator==(const Places&) const = default;
};

// The client's side. states[p] is the row-major tokens x d matrix of prompt p, with at most T tokens; there
// are 1 to `prompts` prompts. Returns the vectors of all state ciphertexts, `slots` entries each. Prompts
// shorter than T are continued by their own tokens from the start, and unused places repeat the prompts:
// these values are never read, but must stay inside the ranges of the polynomials.
std::vector<std::vector<std::complex<double>>> pack_states(const Places&, int width,
                                                           std::span<const std::vector<double>> states);
// The inverse (client_logits.cc), for the first `prompts` prompts of T tokens each.
std::vector<std::vector<double>> unpack_states(const Places&, int width,
                                               std::span<const std::vector<std::complex<double>>> ciphertexts,
                                               int prompts);

// A mask of the prompts' lengths: every slot of token t of a prompt of L tokens has L^{-1/p} if t < L, else
// 0. Places are those of pack_states.
std::vector<std::complex<double>> pack_lengths(const Places&, std::span<const int> lengths, int power);

// (t + 1)^{-1/p}, t + 1 the length of token t's row: it makes row sums means.
double row_scale(int token, int power);

}  // namespace psm::attention
