#include "ckks/linalg/apply_transform.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Both polynomials of a block's sources, a tile of each, are half of a second-level cache: 512 KiB. Tiles of
// keys that are read stretch by stretch want to be long.
constexpr size_t kBlockWords = size_t{1} << 16;
// Many sums are read and written once a block, so that a block should have all their sources; few sums are
// bound by keys, which want long tiles.
constexpr size_t kManySums = 16;
int sources_per_block(size_t sums) { return sums >= kManySums ? 128 : 30; }
constexpr size_t kMostTogether = 4;  // lone terms: each takes its remainders modulo all primes at once
constexpr size_t kShortRun = 4;      // up to here kernels take plaintexts as they are

}  // namespace

EncodedTransform::EncodedTransform(const Context& context, const Encoder& encoder,
                                   const LinearTransform& transform, Level level, Scale input_scale,
                                   Scale output_scale)
    : context_(context),
      schedule_(transform_schedule(transform, context.slots())),
      level_(level),
      input_scale_(input_scale),
      output_scale_(output_scale) {
  PSM_CHECK(level >= 1 && level <= context.max_level(), "level ", level);
  const Scale scale(before_rescale(output_scale, context.q(level)) / input_scale);
  plaintexts_.resize(transform.terms.size());
  parallel_for(0, transform.terms.size(), [&](size_t t) {
    plaintexts_[t] = encoder.encode(transform.terms[t].weight.values(), level, scale, true);
  });
  has_terms_ = schedule_.has_terms();
  find_lone_terms();
  build_blocks();
}

void EncodedTransform::find_lone_terms() {
  std::vector<int> uses(schedule_.sources.size()), terms(schedule_.accumulators.size());
  for (size_t t = 0; t < plaintexts_.size(); ++t) {
    ++uses[schedule_.term_source[t]];
    ++terms[schedule_.term_accumulator[t]];
  }
  for (const auto& step : schedule_.steps) terms[step.from] = terms[step.to] = 0;
  is_lone_.assign(schedule_.accumulators.size(), 0);
  // Those of one rotation read one key, and are made together.
  std::map<std::pair<int, bool>, std::vector<int>> by_rotation;
  for (size_t t = 0; t < plaintexts_.size(); ++t) {
    const int source = schedule_.term_source[t], accumulator = schedule_.term_accumulator[t];
    if (uses[source] > 1 || terms[accumulator] != 1) {
      summed_sources_.push_back(source);
      continue;
    }
    is_lone_[accumulator] = 1;
    std::vector<int>& together =
        by_rotation[{schedule_.sources[source].baby, schedule_.sources[source].conjugate}];
    together.push_back(static_cast<int>(t));
    if (together.size() == kMostTogether) lone_terms_.push_back(std::exchange(together, {}));
  }
  for (auto& [rotation, together] : by_rotation) {
    if (!together.empty()) lone_terms_.push_back(std::move(together));
  }
  std::sort(summed_sources_.begin(), summed_sources_.end());
  summed_sources_.erase(std::unique(summed_sources_.begin(), summed_sources_.end()), summed_sources_.end());
}

void EncodedTransform::build_blocks() {
  const int source_count = static_cast<int>(summed_sources_.size());
  std::vector<int> place(schedule_.sources.size(), -1);
  for (int s = 0; s < source_count; ++s) place[summed_sources_[s]] = s;
  std::vector<char> written(schedule_.accumulators.size(), 0);
  const int together = sources_per_block(schedule_.accumulators.size());
  for (int first = 0; first < source_count; first += together) {
    Block block{first, std::min(first + together, source_count), {}};
    // (accumulator, values per limb) -> sources and plaintexts, sources ascending.
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> rows;
    for (size_t t = 0; t < plaintexts_.size(); ++t) {
      if (is_lone_[schedule_.term_accumulator[t]]) continue;
      const int source = place[schedule_.term_source[t]];
      if (source < block.first_source || source >= block.last_source) continue;
      rows[{schedule_.term_accumulator[t], plaintexts_[t].values_per_limb()}].push_back(
          {source, static_cast<int>(t)});
    }
    std::map<std::tuple<bool, int, std::vector<int>>, size_t> tile_of;
    for (auto& [key, columns] : rows) {
      const auto [accumulator, values_per_limb] = key;
      std::sort(columns.begin(), columns.end());
      std::vector<int> sources;
      for (const auto& [source, plaintext] : columns) sources.push_back(source);
      const bool accumulate = written[accumulator] != 0;
      written[accumulator] = 1;
      const auto [it, is_new] =
          tile_of.try_emplace({accumulate, values_per_limb, sources}, block.tiles.size());
      if (is_new) block.tiles.push_back({sources, {}, {}, values_per_limb, accumulate});
      Tile& tile = block.tiles[it->second];
      tile.accumulators.push_back(accumulator);
      for (const auto& [source, plaintext] : columns) tile.plaintexts.push_back(plaintext);
    }
    std::stable_partition(block.tiles.begin(), block.tiles.end(),
                          [](const Tile& tile) { return !tile.accumulate; });
    for (Tile& tile : block.tiles) pack_matrices(tile);
    blocks_.push_back(std::move(block));
  }
}

void EncodedTransform::pack_matrices(Tile& tile) {
  const size_t values = static_cast<size_t>(tile.values_per_limb);
  if (context_.ring().n() / values <= kShortRun) return;
  const size_t rows = tile.accumulators.size(), cols = tile.sources.size();
  const int limbs = plaintexts_[tile.plaintexts[0]].basis().limbs();
  tile.matrices = Buffer(static_cast<size_t>(limbs) * values * rows * cols);
  parallel_for(0, static_cast<size_t>(limbs), [&](size_t limb) {
    const int j = static_cast<int>(limb);
    uint64_t* to = tile.matrices_of_limb(j);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t k = 0; k < cols; ++k) {
        const uint64_t* from = plaintexts_[tile.plaintexts[r * cols + k]].limb(j);
        uint64_t* at = to + matrix_constant(rows, cols, r, k);
        for (size_t t = 0; t < values; ++t) at[t * rows * cols] = from[t];
      }
    }
  });
  for (const int plaintext : tile.plaintexts) plaintexts_[plaintext] = {};
}

size_t EncodedTransform::bytes() const {
  size_t sum = 0;
  for (const Plaintext& plaintext : plaintexts_) sum += plaintext.bytes();
  for (const Block& block : blocks_) {
    for (const Tile& tile : block.tiles) sum += tile.matrices.size() * sizeof(uint64_t);
  }
  return sum;
}

void EncodedTransform::accumulate_limb(const Evaluator& evaluator, std::span<const Hoisted> hoisted,
                                       std::span<const GaloisStep> galois_steps,
                                       std::vector<ExtendedCiphertext>& sums, int j) const {
  const size_t n = context_.ring().n();
  const Basis basis{level_ + 1, context_.p_count(level_)};
  const Modulus& q = context_.ring().modulus(context_.ring().prime_index(basis, j));
  const size_t widest = std::min<size_t>(sources_per_block(sums.size()), summed_sources_.size());
  const size_t size = std::min({n, kMaxTile, std::bit_floor(kBlockWords / (2 * widest))});
  Buffer switched(2 * widest * size);  // c_0 and c_1 of every source of the block
  std::vector<uint64_t*> out;
  std::vector<const uint64_t*> in, plain;
  for (const Block& block : blocks_) {
    for (size_t begin = 0; begin < n; begin += size) {
      for (int s = block.first_source; s < block.last_source; ++s) {
        const int source = summed_sources_[s];
        uint64_t* c0 = switched.data() + 2 * (s - block.first_source) * size;
        galois_tile(evaluator.switcher(), hoisted[schedule_.sources[source].input], galois_steps[source], j,
                    begin, size, c0, c0 + size);
      }
      for (const Tile& tile : block.tiles) {
        const size_t run = n / tile.values_per_limb;
        for (int half = 0; half < 2; ++half) {
          out.clear();
          in.clear();
          for (const int accumulator : tile.accumulators)
            out.push_back(sums[accumulator].c[half].limb(j) + begin);
          for (const int s : tile.sources)
            in.push_back(switched.data() + (2 * (s - block.first_source) + half) * size);
          if (run <= kShortRun) {
            plain.clear();
            for (const int plaintext : tile.plaintexts)
              plain.push_back(plaintexts_[plaintext].limb(j) + begin / run);
            kernels().matrix_product(out.data(), out.size(), in.data(), in.size(), plain.data(), run, size, q,
                                     tile.accumulate);
          } else {
            kernels().run_matrix_product(out.data(), out.size(), in.data(), in.size(),
                                         tile.matrices_of_limb(j) + begin / run * out.size() * in.size(),
                                         std::min(run, size), size, q, tile.accumulate);
          }
        }
      }
    }
  }
}

void EncodedTransform::apply_lone_terms(const Evaluator& evaluator, std::span<const Hoisted> hoisted,
                                        std::span<const GaloisStep> galois_steps,
                                        std::vector<Ciphertext>& out) const {
  const Basis basis{level_ + 1, context_.p_count(level_)};
  for (const std::vector<int>& terms : lone_terms_) {
    auto divided = evaluator.switcher().mod_down_rescale(
        basis, terms.size(), [&](size_t i, int j, size_t begin, size_t size, uint64_t* out0, uint64_t* out1) {
          const int source = schedule_.term_source[terms[i]];
          const Hoisted& from = hoisted[schedule_.sources[source].input];
          alignas(64) uint64_t switched[2][kMaxTile];
          galois_tile(evaluator.switcher(), from, galois_steps[source], j, begin, size, switched[0],
                      switched[1]);
          plaintexts_[terms[i]].multiply_limb(out0, switched[0], j, begin, size);
          plaintexts_[terms[i]].multiply_limb(out1, switched[1], j, begin, size);
        });
    for (size_t i = 0; i < terms.size(); ++i) {
      out[schedule_.term_accumulator[terms[i]]] = {std::move(divided[i]), output_scale_,
                                                   hoisted[0].source->fingerprint};
    }
  }
}

std::vector<Ciphertext> EncodedTransform::apply(const Evaluator& evaluator,
                                                std::span<const Ciphertext* const> inputs) const {
  std::vector<Hoisted> hoisted(inputs.size());
  std::vector<GaloisStep> galois_steps;  // of each source
  for (const TransformSchedule::Source& source : schedule_.sources) {
    PSM_CHECK(source.input >= 0 && source.input < static_cast<int>(inputs.size()), "input ", source.input);
    const Ciphertext& input = *inputs[source.input];
    PSM_CHECK(input.level() == level_ && input.scale() == input_scale_, "input at level ", input.level(),
              " and scale ", input.scale(), ", encoded for level ", level_, " and scale ", input_scale_);
    galois_steps.push_back(
        evaluator.galois_step(galois_element(context_, source.baby, source.conjugate), level_));
    Hoisted& digits = hoisted[source.input];
    if (source.switched() && digits.digits.count == 0) {
      digits = evaluator.hoist(input);
    } else {
      digits.source = &input;  // a source that is not rotated needs no digits
    }
  }
  for (const auto& step : schedule_.steps) {
    evaluator.require_galois_key(galois_element(context_, step.by), level_);
  }

  const Ring& ring = context_.ring();
  const Basis basis{level_ + 1, context_.p_count(level_)};
  std::vector<ExtendedCiphertext> sums(schedule_.accumulators.size());
  for (size_t a = 0; a < sums.size(); ++a) {
    if (!has_terms_[a] || is_lone_[a]) continue;
    sums[a] = {ring, basis, before_rescale(output_scale_, context_.q(level_)), inputs[0]->fingerprint};
  }
  parallel_for(0, blocks_.empty() ? 0 : basis.limbs(), [&](size_t j) {
    accumulate_limb(evaluator, hoisted, galois_steps, sums, static_cast<int>(j));
  });
  std::vector<Ciphertext> lone(sums.size());
  apply_lone_terms(evaluator, hoisted, galois_steps, lone);
  hoisted.clear();

  std::vector<char> present = has_terms_;
  for (const auto& step : schedule_.steps) {
    ExtendedCiphertext moved =
        evaluator.apply_galois_extended(sums[step.from], galois_element(context_, step.by));
    sums[step.from] = {};
    if (present[step.to]) {
      evaluator.add_inplace(sums[step.to], moved);
    } else {
      sums[step.to] = std::move(moved);
      present[step.to] = 1;
    }
  }
  std::vector<Ciphertext> out;
  for (const int result : schedule_.results) {
    PSM_CHECK(present[result], "an output without terms");
    if (is_lone_[result]) {
      out.push_back(std::move(lone[result]));
      continue;
    }
    out.push_back(evaluator.mod_down_rescale(sums[result]));
    out.back().settle_scale(output_scale_);
  }
  return out;
}

Ciphertext EncodedTransform::apply(const Evaluator& evaluator, const Ciphertext& input) const {
  PSM_CHECK(outputs() == 1, outputs(), " outputs");
  const Ciphertext* inputs[] = {&input};
  return std::move(apply(evaluator, inputs)[0]);
}

}  // namespace psm::ckks
