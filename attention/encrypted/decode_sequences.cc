#include "attention/encrypted/decode_sequences.h"

#include <bit>
#include <utility>

#include "attention/encrypted/encrypted_block.h"
#include "ckks/base/error.h"

namespace psm::attention {

using program::Builder;
using program::Instruction;
using program::Program;
using program::Value;

namespace {

using Values = std::vector<Value>;

}  // namespace

// What all layers have in common, at the block's first position.
class SequenceDecoder {
 public:
  SequenceDecoder(Builder& builder, const ModelConfig& config, const DiagonalCache& cache, int block)
      : builder_(builder), config_(config), cache_(cache), block_(block), constants_(cache, block) {
    if (block < 0 || block >= cache.blocks())
      throw Error(message("block ", block, " of keys and values; ", cache.tokens(), " tokens have ",
                          cache.blocks(), " of ", cache.block_tokens()));
    position_ = block * cache.block_tokens();
    drops_below_ = 1 + std::bit_width(static_cast<unsigned>(config.power - 1));
  }

  // Attention of layer n, divided by V; the token enters keys and values.
  Values attend(int n, const Projections& of_h, const FoldedLayer& folded,
                const approx::Approximation& inverse) {
    std::vector<std::vector<Values>> keys, values;  // by ciphertext of heads, block, diagonal
    for (int c = 0; c < static_cast<int>(of_h.q.size()); ++c) {
      keys.push_back(updated(CacheKind::kKeys, n, c, of_h.k[c]));
      values.push_back(updated(CacheKind::kValues, n, c, of_h.v[c]));
    }
    const auto scores = [&](size_t c) {
      const Value q =
          depends(Kind::kQueryMask, 0, builder_.multiply_plain(of_h.q[c], cache_.query_mask(position_)));
      const Values queries = cache_.queries(builder_, q);
      Values of_heads;
      for (int b = 0; b <= block_; ++b) {
        of_heads.push_back(cache_.scores(builder_, queries, keys[c][b]));
        if (folded.score_offset.empty()) continue;
        of_heads[b] = depends(
            Kind::kScoreOffsets, b,
            builder_.add_plain(of_heads[b], cache_.score_offsets(position_, b, folded.score_offset[c])),
            folded.score_offset[c]);
      }
      return of_heads;
    };
    Builder::Scope scope(builder_, "attention");
    return attention_of_scores(
        builder_, of_h.q.size(), config_.power, folded, inverse,
        {.scores = scores,
         .row_sums =
             [&](const Values& powers) { return cache_.row_sums(builder_, powers, folded.row_sum_factor); },
         .weigh = [&](const Values& powers, size_t c) { return cache_.weigh(builder_, powers, values[c]); }});
  }

  // After the last layer.
  SequencesProgram finish(Builder&& builder) && {
    Program program = std::move(builder).finish();
    std::map<int, const Instruction*> by_result;
    for (const Instruction& instruction : program.instructions)
      by_result.emplace(instruction.results[0].id, &instruction);
    for (SequenceConstants::Constant& constant : constants_.constants_)
      constant.instruction = *by_result.at(constant.instruction.results[0].id);
    return {std::move(program), std::move(constants_), cache_, block_, std::move(drops_)};
  }

 private:
  using Kind = SequenceConstants::Kind;

  // The instruction that made `first` is one that depends on the position.
  Value depends(Kind kind, int number, Value first, std::vector<double> score_offset = {}) {
    constants_.constants_.push_back({kind, number, std::move(score_offset), {.results = {first}}});
    return first;
  }

  // The caches of all blocks by block and diagonal, with the token's k or v in the last one.
  std::vector<Values> updated(CacheKind kind, int n, int c, Value of_token) {
    Builder::Scope scope(builder_, "cache");
    std::vector<Values> blocks;
    for (int b = 0; b <= block_; ++b) {
      Values diagonals;
      for (int i = 0; i < cache_.diagonals(); ++i) {
        const std::string name = cache_.name(kind, n, c, b, i);
        diagonals.push_back(builder_.input(name, false, cache_.period()));
        drops_[name] = kind == CacheKind::kKeys ? 0 : drops_below_;
      }
      blocks.push_back(std::move(diagonals));
    }
    const Values rotated = builder_.rotate_all(of_token, cache_.entry_offsets(position_));
    if (!rotated.empty()) depends(Kind::kEntryOffsets, 0, rotated[0]);
    Values& open = blocks.back();
    const Kind mask = kind == CacheKind::kKeys ? Kind::kKeyMask : Kind::kValueMask;
    for (int i = 0; i <= static_cast<int>(rotated.size()); ++i) {
      Value& diagonal = open[i % cache_.diagonals()];
      diagonal =
          builder_.add(diagonal, depends(mask, i,
                                         builder_.multiply_plain(i == 0 ? of_token : rotated[i - 1],
                                                                 cache_.entry_mask(kind, position_, i))));
    }
    for (int i = 0; i < cache_.diagonals(); ++i) builder_.output(cache_.name(kind, n, c, block_, i), open[i]);
    return blocks;
  }

  Builder& builder_;
  const ModelConfig& config_;
  const DiagonalCache& cache_;
  int block_, position_ = 0, drops_below_ = 0;
  SequenceConstants constants_;
  std::map<std::string, int> drops_;
};

program::Constants SequenceConstants::at(int position) const {
  const int first = block_ * cache_.block_tokens(),
            last = std::min(first + cache_.block_tokens(), cache_.tokens()) - 1;
  if (position < first || position > last)
    throw Error(message("position ", position, " of sequences whose program is that of positions ", first,
                        " to ", last));
  const ckks::Plain query_mask = cache_.query_mask(position);  // all masks are the same in all layers
  std::map<std::pair<Kind, int>, ckks::Plain> entry_masks;
  program::Constants constants;
  for (const Constant& constant : constants_) {
    Instruction instruction = constant.instruction;
    switch (constant.kind) {
      case Kind::kQueryMask:
        instruction.plain = query_mask;
        break;
      case Kind::kEntryOffsets:
        instruction.offsets = cache_.entry_offsets(position);
        for (int& offset : instruction.offsets) offset = (offset + cache_.slots()) % cache_.slots();
        break;
      case Kind::kKeyMask:
      case Kind::kValueMask: {
        ckks::Plain& mask = entry_masks[{constant.kind, constant.number}];
        if (mask.period() == 0)
          mask = cache_.entry_mask(constant.kind == Kind::kKeyMask ? CacheKind::kKeys : CacheKind::kValues,
                                   position, constant.number);
        instruction.plain = mask;
        break;
      }
      case Kind::kScoreOffsets:
        instruction.plain = cache_.score_offsets(position, constant.number, constant.score_offset);
        break;
    }
    constants.push_back(std::move(instruction));
  }
  return constants;
}

// The slot that a token has in its heads decides on them.
std::vector<int> SequenceConstants::all_rotations() const {
  const int first = block_ * cache_.block_tokens();
  std::vector<int> positions;
  for (int t = first; t < std::min(first + cache_.head_features(), cache_.tokens()); ++t)
    positions.push_back(t);
  return positions;
}

Program SequencesProgram::at(int position) const {
  return program::with_constants(program, constants.at(position));
}

namespace {

// folded(n), polynomials(n): layer n's.
template <typename Folded, typename Polynomials>
SequencesProgram build(const ModelConfig& config, const Packing& packing, int tokens, int block,
                       bool client_norm, const Folded& folded, const Polynomials& polynomials) {
  require_decodable(config);
  Builder builder(packing.slots);
  const DiagonalCache cache(config, packing, tokens);
  SequenceDecoder decoder(builder, config, cache, block);
  const EncryptedBlocks blocks(builder, config, packing);
  Stream stream{state_inputs(builder, packing, "x", packing.period()), {}};
  if (client_norm) stream.h = state_inputs(builder, packing, "h", packing.period());
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer& layer = folded(n);
    const LayerApproximations& functions = polynomials(n);
    const Projections of_h = blocks.project(stream, layer, functions);
    const Values attention = decoder.attend(n, of_h, layer, functions.inverse());
    stream = blocks.finish(stream, of_h, attention, layer, functions);
  }
  state_outputs(builder, packing, stream.x);
  return std::move(decoder).finish(std::move(builder));
}

}  // namespace

SequencesProgram build_sequences_program(const PolynomialModel& model, const Packing& packing, int tokens,
                                         int block) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, tokens, block, model.options.client_norm,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; });
}

SequencesProgram build_sequences_shape_program(const ModelConfig& config, const Packing& packing, int tokens,
                                               int block, const ShapeRanges& ranges,
                                               const PolynomialOptions& options) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, tokens, block, options.client_norm, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; });
}

}  // namespace psm::attention
