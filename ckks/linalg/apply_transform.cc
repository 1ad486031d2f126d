#include "ckks/linalg/apply_transform.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm {
namespace {

constexpr int kSourcesPerBlock = 30;  // twice what the kernels sum before they reduce

}  // namespace

EncodedTransform::EncodedTransform(const Context& context, const Encoder& encoder,
                                   const LinearTransform& transform, int level, Scale input_scale,
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
  build_blocks();
}

void EncodedTransform::build_blocks() {
  const int source_count = static_cast<int>(schedule_.sources.size());
  std::vector<char> written(schedule_.accumulators.size(), 0);
  for (int first = 0; first < source_count; first += kSourcesPerBlock) {
    Block block{first, std::min(first + kSourcesPerBlock, source_count), {}};
    // (accumulator, values per limb) -> sources and plaintexts, sources ascending.
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> rows;
    for (size_t t = 0; t < plaintexts_.size(); ++t) {
      const int source = schedule_.term_source[t];
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
    blocks_.push_back(std::move(block));
  }
}

size_t EncodedTransform::bytes() const {
  size_t sum = 0;
  for (const Plaintext& plaintext : plaintexts_) sum += plaintext.bytes();
  return sum;
}

void EncodedTransform::accumulate_limb(const Evaluator& evaluator, std::span<const Hoisted> hoisted,
                                       std::span<const GaloisStep> galois_steps,
                                       std::vector<ExtendedCiphertext>& sums, int j) const {
  const size_t n = context_.ring().n(), size = std::min(n, kMaxTile);
  const Basis basis{level_ + 1, context_.p_count(level_)};
  const Modulus& q = context_.ring().modulus(context_.ring().prime_index(basis, j));
  const size_t widest = std::min<size_t>(kSourcesPerBlock, schedule_.sources.size());
  Buffer switched(2 * widest * size);  // c_0 and c_1 of every source of the block
  std::vector<uint64_t*> out;
  std::vector<const uint64_t*> in, plain;
  for (const Block& block : blocks_) {
    for (size_t begin = 0; begin < n; begin += size) {
      for (int s = block.first_source; s < block.last_source; ++s) {
        const TransformSchedule::Source& source = schedule_.sources[s];
        uint64_t* c0 = switched.data() + 2 * (s - block.first_source) * size;
        galois_tile(evaluator.switcher(), hoisted[source.input], galois_steps[s], j, begin, size, c0,
                    c0 + size);
      }
      for (const Tile& tile : block.tiles) {
        const size_t run = n / tile.values_per_limb;
        plain.clear();
        for (const int plaintext : tile.plaintexts)
          plain.push_back(plaintexts_[plaintext].limb(j) + begin / run);
        for (int half = 0; half < 2; ++half) {
          out.clear();
          in.clear();
          for (const int accumulator : tile.accumulators) {
            out.push_back(sums[accumulator].c[half].limb(j) + begin);
          }
          for (const int s : tile.sources)
            in.push_back(switched.data() + (2 * (s - block.first_source) + half) * size);
          kernels().run_matrix_product(out.data(), out.size(), in.data(), in.size(), plain.data(),
                                       std::min(run, size), size, q, tile.accumulate);
        }
      }
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
    if (!has_terms_[a]) continue;
    sums[a] = {ring, basis, before_rescale(output_scale_, context_.q(level_)), inputs[0]->fingerprint};
  }
  parallel_for(0, basis.limbs(), [&](size_t j) {
    accumulate_limb(evaluator, hoisted, galois_steps, sums, static_cast<int>(j));
  });
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

}  // namespace psm
