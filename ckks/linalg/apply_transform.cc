#include "ckks/linalg/apply_transform.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {
namespace {

// Many sums are read and written once a block, so that a block should have all their sources; few sums are
// bound by keys, which want long tiles.
constexpr size_t kManySums = 16;
int sources_per_block(size_t sums) { return sums >= kManySums ? 128 : 30; }
constexpr size_t kMostTogether = 4;  // lone terms: each takes its remainders modulo all primes at once

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
  Coefficients coefficients(transform.terms.size());
  parallel_for(0, transform.terms.size(), [&](size_t t) {
    coefficients[t] = encoder.coefficients(transform.terms[t].weight.values(), level, scale);
  });
  has_terms_ = schedule_.has_terms();
  find_lone_terms();
  encode_lone_terms(encoder, coefficients, scale);
  build_blocks(encoder, coefficients);
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

void EncodedTransform::encode_lone_terms(const Encoder& encoder, Coefficients& coefficients, Scale scale) {
  for (const std::vector<int>& terms : lone_terms_) {
    for (const int t : terms) {
      const Encoder::Coefficients c = std::exchange(coefficients[t], {});
      plaintexts_[t] = {context_.ring(), basis(), static_cast<int>(c.size()), scale,
                        encoder.maker().residues({{c.data(), c.size()}, c.size(), c.largest}, basis())};
    }
  }
}

void EncodedTransform::build_blocks(const Encoder& encoder, Coefficients& coefficients) {
  const int source_count = static_cast<int>(summed_sources_.size());
  std::vector<int> place(schedule_.sources.size(), -1);
  for (int s = 0; s < source_count; ++s) place[summed_sources_[s]] = s;
  std::vector<char> written(schedule_.accumulators.size(), 0);
  const int together = sources_per_block(schedule_.accumulators.size());
  for (int first = 0; first < source_count; first += together) {
    WeightBlock block{first, std::min(first + together, source_count), {}};
    // (accumulator, values per limb) -> sources and terms, sources ascending.
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> rows;
    for (size_t t = 0; t < plaintexts_.size(); ++t) {
      if (is_lone_[schedule_.term_accumulator[t]]) continue;
      const int source = place[schedule_.term_source[t]];
      if (source < block.first_source || source >= block.last_source) continue;
      rows[{schedule_.term_accumulator[t], static_cast<int>(coefficients[t].size())}].push_back(
          {source, static_cast<int>(t)});
    }
    std::map<std::tuple<bool, int, std::vector<int>>, size_t> tile_of;
    std::map<size_t, std::vector<int>> terms_of;  // a tile's, rows x columns
    for (auto& [key, columns] : rows) {
      const auto [accumulator, values_per_limb] = key;
      std::sort(columns.begin(), columns.end());
      std::vector<int> sources;
      for (const auto& [source, term] : columns) sources.push_back(source);
      const bool accumulate = written[accumulator] != 0;
      written[accumulator] = 1;
      const auto [it, is_new] =
          tile_of.try_emplace({accumulate, values_per_limb, sources}, block.tiles.size());
      if (is_new)
        block.tiles.push_back(
            {.sources = sources, .sums = {}, .values_per_limb = values_per_limb, .accumulate = accumulate});
      WeightTile& tile = block.tiles[it->second];
      tile.sums.push_back(accumulator);
      std::vector<int>& terms = terms_of[it->second];
      for (const auto& [source, term] : columns) terms.push_back(term);
    }
    for (size_t i = 0; i < block.tiles.size(); ++i)
      encode_weights(encoder, block.tiles[i], terms_of[i], coefficients);
    std::stable_partition(block.tiles.begin(), block.tiles.end(),
                          [](const WeightTile& tile) { return !tile.accumulate; });
    blocks_.push_back(std::move(block));
  }
}

void EncodedTransform::encode_weights(const Encoder& encoder, WeightTile& tile, const std::vector<int>& terms,
                                      Coefficients& coefficients) const {
  const auto values = static_cast<size_t>(tile.values_per_limb);
  Buffer joined(terms.size() * values);
  auto* const to = reinterpret_cast<double*>(joined.data());
  double largest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Encoder::Coefficients c = std::exchange(coefficients[terms[i]], {});
    std::copy_n(c.data(), values, to + i * values);
    largest = std::max(largest, c.largest);
  }
  tile.weights = encoder.maker().residues({.coefficients = {to, joined.size()},
                                           .values = values,
                                           .largest = largest,
                                           .rows = tile.sums.size(),
                                           .cols = tile.sources.size(),
                                           .by_runs = tile.by_runs(context_.ring().n())},
                                          basis());
}

size_t EncodedTransform::bytes() const {
  size_t sum = 0;
  for (const Plaintext& plaintext : plaintexts_) sum += plaintext.bytes();
  for (const WeightBlock& block : blocks_) {
    for (const WeightTile& tile : block.tiles) sum += tile.weights.size() * sizeof(uint64_t);
  }
  return sum;
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

  const auto source_of = [&](int source) {
    return SwitchedSource{&hoisted[schedule_.sources[source].input], &galois_steps[source]};
  };
  std::vector<SwitchedSource> summed;
  for (const int source : summed_sources_) summed.push_back(source_of(source));
  const Engine& engine = evaluator.engine();
  const Scale sum_scale = before_rescale(output_scale_, context_.q(level_));
  const Fingerprint owner = inputs[0]->fingerprint;
  std::vector<ExtendedCiphertext> sums;
  for (Engine::Pair& sum : engine.weighted_sums(summed, blocks_, schedule_.accumulators.size()))
    sums.emplace_back(std::move(sum), sum_scale, owner);
  std::vector<Ciphertext> lone(sums.size());
  for (const std::vector<int>& terms : lone_terms_) {
    std::vector<SwitchedSource> sources;
    std::vector<const Plaintext*> weights;
    for (const int t : terms) {
      sources.push_back(source_of(schedule_.term_source[t]));
      weights.push_back(&plaintexts_[t]);
    }
    std::vector<Engine::Pair> divided = engine.divide_weighted(sources, weights);
    for (size_t i = 0; i < terms.size(); ++i)
      lone[schedule_.term_accumulator[terms[i]]] = {std::move(divided[i]), output_scale_, owner};
  }
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
