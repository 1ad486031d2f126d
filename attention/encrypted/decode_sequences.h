// One further token of each of U sequences of one key holder, all in one ciphertext: documents or beams that are
// decoded in step. A slot program like that of one token (decode.h), for when there are several: state and
// matrix products are those of a pass (encrypted_block.h), whose tokens here are sequences that know nothing of
// one another; keys and values stand in rotated diagonals (diagonal_cache.h).
//
// State. x' and h' of token t of sequence u in place u: a packing of U prompts of one token. client_inputs makes
// it of U texts of one token, client_logits reads the result as of such texts. U is a power of two; fewer repeat.
//
// All sequences are at the same position and begin at 0. A shorter prompt is not padded: its sequence goes on
// with tokens of its own while longer prompts are still read. The pass over a prompt does not fill these caches,
// whose diagonals it has in other slots: prompts go token by token through this program.
//
// Blocks. A program belongs to a block of R C tokens (diagonal_cache.h): it reads the caches of that block and of
// those before it, and hands on that block's. Inside, positions differ in constants alone; a block begins
// with caches of zeros.
//
// A layer:  norm, q, k, v, up    as the pass's
//           entry, scores, powers, row sums, 1/x, output   diagonal_cache.h
//           gelu, output         as the pass's
// Levels: one more than the block's through the query. What keys need, values need 1 + ceil(log2 p) later.
//
// Ciphertexts kept, of one ciphertext of heads: 2 I in each layer and block, 2 C T / (A R C) = 2 U F T / slots for
// every layer where all is full: as many numbers as keys and values have, for any U.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attention/encrypted/diagonal_cache.h"
#include "attention/encrypted/encrypted_model.h"
#include "attention/encrypted/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"

namespace psm::attention {

// What of the program depends on the position.
class SequenceConstants {
 public:
  // Of a position of the program's block.
  program::Constants at(int position) const;
  // Positions whose rotations are those of all.
  std::vector<int> all_rotations() const;

 private:
  friend class SequenceDecoder;
  enum class Kind { kQueryMask, kEntryOffsets, kKeyMask, kValueMask, kScoreOffsets };
  struct Constant {
    Kind kind;
    int number;                        // of the diagonal, or of the block
    std::vector<double> score_offset;  // of the heads
    program::Instruction instruction;  // of the block's first position
  };
  SequenceConstants(DiagonalCache cache, int block) : cache_(std::move(cache)), block_(block) {}

  DiagonalCache cache_;
  int block_;
  std::vector<Constant> constants_;
};

// Inputs: those of build_program, and the caches of blocks 0 to `block`. Outputs: the state, and the caches of
// `block`.
struct SequencesProgram {
  program::Program at(int position) const;

  program::Program program;  // at the block's first position
  SequenceConstants constants;
  DiagonalCache cache;
  int block = 0;

  // By how many levels each of the caches it reads may stand below those of keys: 0, or 1 + ceil(log2 p).
  std::map<std::string, int> cache_drops;
};

// A packing of prompts of one token: make_packing(config, 1, slots, sequences). `tokens`: of each sequence at
// most, T. Throws psm::Error on another packing, and on models that decode.h has no form for.
SequencesProgram build_sequences_program(const PolynomialModel&, const Packing&, int tokens, int block);

// Of a model that exists only as a shape, for the meter.
SequencesProgram build_sequences_shape_program(const ModelConfig&, const Packing&, int tokens, int block,
                                               const ShapeRanges& = {}, const PolynomialOptions& = {});

}  // namespace psm::attention
