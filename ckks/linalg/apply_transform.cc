#include "ckks/linalg/apply_transform.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

namespace psm::ckks {
namespace {

// What weights of a transform become, a block or the lone terms of one rotation at a time.
class WeightEncoder {
 public:
  WeightEncoder(const Context& context, const Encoder& encoder, const LinearTransform& transform, Level level,
                Scale scale)
      : ring_(context.ring()),
        encoder_(encoder),
        transform_(transform),
        level_(level),
        scale_(scale),
        basis_(weight_basis(transform, context.chain(), level)) {}

  std::vector<Plaintext> lone(const std::vector<int>& terms) const {
    std::vector<Encoder::Coefficients> all(terms.size());
    parallel_for(0, terms.size(), [&](size_t t) { all[t] = coefficients(terms[t]); });
    std::vector<Plaintext> out;
    for (const Encoder::Coefficients& c : all) {
      out.emplace_back(ring_, basis_, static_cast<int>(c.size()), scale_,
                       encoder_.maker().residues({{c.data(), c.size()}, c.size(), c.largest}, basis_));
    }
    return out;
  }

  void fill(WeightBlock& block) const {
    block.basis = basis_;
    for (WeightTile& tile : block.tiles) tile.weights = encode(tile);
  }

 private:
  Encoder::Coefficients coefficients(int term) const {
    return encoder_.coefficients(transform_.terms[term].weight.values(), level_, scale_);
  }

  Buffer encode(const WeightTile& tile) const {
    const auto values = static_cast<size_t>(tile.values_per_limb);
    Buffer joined(tile.terms.size() * values);
    auto* const to = reinterpret_cast<double*>(joined.data());
    std::vector<double> largest(tile.terms.size());
    parallel_for(0, tile.terms.size(), [&](size_t t) {
      const Encoder::Coefficients c = coefficients(tile.terms[t]);
      std::copy_n(c.data(), values, to + t * values);
      largest[t] = c.largest;
    });
    return encoder_.maker().residues({.coefficients = {to, joined.size()},
                                      .values = values,
                                      .largest = *std::max_element(largest.begin(), largest.end()),
                                      .rows = tile.sums.size(),
                                      .cols = tile.sources.size(),
                                      .by_runs = tile.by_runs(ring_.n())},
                                     basis_);
  }

  const Ring& ring_;
  const Encoder& encoder_;
  const LinearTransform& transform_;
  Level level_;
  Scale scale_;
  Basis basis_;
};

// Returns the scale of the weights with which a rescaled sum has the output's scale.
Scale weight_scale(const Context& context, Level level, Scale input_scale, Scale output_scale) {
  PSM_CHECK(level >= 1 && level <= context.max_level(), "level ", level);
  return Scale(before_rescale(output_scale, context.q(level)) / input_scale);
}

// What is the same for all weights, however they come.
struct Application {
  const TransformSchedule& schedule;
  const TransformBlocks& blocks;
  Level level;
  Scale input_scale, output_scale;

  // lone_weights(g, use) calls use with the plaintexts of group g, block_weights(b, use) with block b.
  template <typename Lone, typename Block>
  std::vector<Ciphertext> run(const Evaluator& evaluator, std::span<const Ciphertext* const> inputs,
                              const Lone& lone_weights, const Block& block_weights) const {
    const Context& context = evaluator.context();
    PSM_CHECK(!inputs.empty());
    const Fingerprint owner{context.fingerprint(), inputs[0]->fingerprint.key};
    std::vector<Hoisted> hoisted(inputs.size());
    std::vector<GaloisStep> galois_steps;  // of each source
    for (const TransformSchedule::Source& source : schedule.sources) {
      PSM_CHECK(source.input >= 0 && source.input < static_cast<int>(inputs.size()), "input ", source.input);
      const Ciphertext& input = *inputs[source.input];
      if (input.fingerprint != owner) {
        throw Error(
            "a transform's inputs belong to other parameters or to different key pairs; use the files of one "
            "run");
      }
      PSM_CHECK(input.level() == level && input.scale() == input_scale, "input at level ", input.level(),
                " and scale ", input.scale(), ", encoded for level ", level, " and scale ", input_scale);
      const bool raised = schedule.counts.from_ephemeral;
      const GaloisElement g = galois_element(context, source.baby, source.conjugate);
      galois_steps.push_back(evaluator.galois_step(g, level, raised));
      Hoisted& digits = hoisted[source.input];
      if (schedule.has_key(source) && digits.digits.count == 0) {
        digits = evaluator.hoist(input, raised);
      } else {
        digits.source = &input;  // a source without a key needs no digits
      }
    }
    // Refused now, where its key is missing.
    for (const auto& step : schedule.steps) evaluator.galois_step(galois_element(context, step.by), level);

    const auto source_of = [&](int source) {
      return SwitchedSource{&hoisted[schedule.sources[source].input], &galois_steps[source]};
    };
    std::vector<SwitchedSource> summed;
    for (const int source : blocks.summed_sources) summed.push_back(source_of(source));
    const Engine& engine = evaluator.engine();
    const GaloisStep unmoved = evaluator.galois_step(1, level);
    std::vector<Engine::Pair> pairs(schedule.accumulators.size());
    for (size_t b = 0; b < blocks.blocks.size(); ++b) {
      block_weights(b, [&](const WeightBlock& weights) {
        if (!schedule.counts.divides_sources) return engine.add_weighted(pairs, summed, weights);
        std::deque<Ciphertext> rotated;
        std::deque<Hoisted> divided;
        std::vector<SwitchedSource> sources = summed;  // those that are not rotated stay
        for (int s = weights.first_source; s < weights.last_source; ++s) {
          if (summed[s].step->key == nullptr) continue;
          rotated.push_back(evaluator.apply_galois(*summed[s].from, summed[s].step->element));
          divided.push_back({.source = &rotated.back()});
          sources[s] = {&divided.back(), &unmoved};
        }
        engine.add_weighted(pairs, sources, weights);
      });
    }
    std::vector<Ciphertext> lone(pairs.size());
    for (size_t g = 0; g < blocks.lone_terms.size(); ++g) {
      lone_weights(g, [&](const std::vector<Plaintext>& plaintexts) {
        std::vector<SwitchedSource> sources;
        std::vector<const Plaintext*> weights;
        for (size_t i = 0; i < plaintexts.size(); ++i) {
          sources.push_back(source_of(schedule.term_source[blocks.lone_terms[g][i]]));
          weights.push_back(&plaintexts[i]);
        }
        std::vector<Engine::Pair> divided = engine.divide_weighted(sources, weights);
        for (size_t i = 0; i < divided.size(); ++i) {
          lone[schedule.term_accumulator[blocks.lone_terms[g][i]]] = {std::move(divided[i]), output_scale,
                                                                      owner};
        }
      });
    }
    hoisted.clear();
    return finish(evaluator, std::move(pairs), owner, std::move(lone));
  }

  // Takes the giant steps and divides, one output after another. `lone` has the outputs that are lone terms.
  std::vector<Ciphertext> finish(const Evaluator& evaluator, std::vector<Engine::Pair> pairs,
                                 const Fingerprint& owner, std::vector<Ciphertext> lone) const {
    const Context& context = evaluator.context();
    const Scale sum_scale = before_rescale(output_scale, context.q(level));
    std::vector<Summand> sums;
    for (Engine::Pair& pair : pairs) sums.emplace_back(std::move(pair), sum_scale, owner);
    std::vector<Ciphertext> out;
    auto step = schedule.steps.begin();
    for (const int result : schedule.results) {
      if (blocks.is_lone[result]) {
        out.push_back(std::move(lone[result]));
        continue;
      }
      const int output = schedule.accumulators[result].output;
      for (; step != schedule.steps.end() && schedule.accumulators[step->to].output == output; ++step) {
        Summand& to = sums[step->to];
        to = evaluator.giant_step(sums[step->from], galois_element(context, step->by),
                                  to.c[0].empty() ? nullptr : &to);
        sums[step->from] = {};
      }
      PSM_CHECK(!sums[result].c[0].empty(), "an output without terms");
      out.push_back(evaluator.rescale(sums[result]));
      out.back().settle_scale(output_scale);
      sums[result] = {};
    }
    return out;
  }
};

}  // namespace

EncodedTransform::EncodedTransform(const Context& context, const Encoder& encoder,
                                   const LinearTransform& transform, Level level, Scale input_scale,
                                   Scale output_scale)
    : schedule_(transform_schedule(transform, context.slots())),
      blocks_(transform_blocks(transform, schedule_)),
      level_(level),
      input_scale_(input_scale),
      output_scale_(output_scale) {
  const WeightEncoder encode(context, encoder, transform, level,
                             weight_scale(context, level, input_scale, output_scale));
  for (const std::vector<int>& terms : blocks_.lone_terms) lone_.push_back(encode.lone(terms));
  for (WeightBlock& block : blocks_.blocks) encode.fill(block);
}

size_t EncodedTransform::bytes() const {
  size_t sum = 0;
  for (const std::vector<Plaintext>& plaintexts : lone_)
    for (const Plaintext& plaintext : plaintexts) sum += plaintext.bytes();
  for (const WeightBlock& block : blocks_.blocks)
    for (const WeightTile& tile : block.tiles) sum += tile.weights.size() * sizeof(uint64_t);
  return sum;
}

std::vector<Ciphertext> EncodedTransform::apply(const Evaluator& evaluator,
                                                std::span<const Ciphertext* const> inputs) const {
  return Application{schedule_, blocks_, level_, input_scale_, output_scale_}.run(
      evaluator, inputs, [&](size_t g, const auto& use) { use(lone_[g]); },
      [&](size_t b, const auto& use) { use(blocks_.blocks[b]); });
}

Ciphertext EncodedTransform::apply(const Evaluator& evaluator, const Ciphertext& input) const {
  PSM_CHECK(schedule_.results.size() == 1, schedule_.results.size(), " outputs");
  const Ciphertext* inputs[] = {&input};
  return std::move(apply(evaluator, inputs)[0]);
}

std::vector<Ciphertext> encode_and_apply(const Context& context, const Encoder& encoder,
                                         const LinearTransform& transform, Level level, Scale input_scale,
                                         Scale output_scale, const Evaluator& evaluator,
                                         std::span<const Ciphertext* const> inputs, double& encode_seconds) {
  const TransformSchedule schedule = transform_schedule(transform, context.slots());
  TransformBlocks blocks = transform_blocks(transform, schedule);
  const WeightEncoder encode(context, encoder, transform, level,
                             weight_scale(context, level, input_scale, output_scale));
  const auto timed = [&](const auto& make) {
    const double start = seconds_now();
    make();
    encode_seconds += seconds_now() - start;
  };
  return Application{schedule, blocks, level, input_scale, output_scale}.run(
      evaluator, inputs,
      [&](size_t g, const auto& use) {
        std::vector<Plaintext> plaintexts;
        timed([&] { plaintexts = encode.lone(blocks.lone_terms[g]); });
        use(plaintexts);
      },
      [&](size_t b, const auto& use) {
        WeightBlock& block = blocks.blocks[b];
        timed([&] { encode.fill(block); });
        use(block);
        for (WeightTile& tile : block.tiles) tile.weights = {};
      });
}

}  // namespace psm::ckks
