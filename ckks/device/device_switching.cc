// Divisions, key switching, and sums over rotations.
#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/device/device_engine.h"

namespace psm::ckks {
namespace {

// Rotations that are multiplied with weights stand in memory before that, as many limbs at a time as fit.
constexpr size_t kSwitchedWords = size_t{1} << 27;

}  // namespace

// ---- divisions -------------------------------------------------------------------------------------------

void DeviceEngine::finish_division(std::span<RnsPoly> out, const Division& division, const Buffer& remainders,
                                   const Multiplier* inverses) const {
  DivideEnd end{{ring().log_n(), primes_of(out[0].basis())},
                static_cast<int>(out.size()),
                inverses,
                division.permutation,
                {},
                {},
                {},
                {}};
  for (size_t i = 0; i < out.size(); ++i) {
    end.x[i] = here(division.x[i]);
    end.r[i] = remainders.data() + i * static_cast<size_t>(out[0].limbs()) * ring().n();
    end.a[i] = division.addends[i] == nullptr ? nullptr : here(*division.addends[i]);
    end.out[i] = here(out[i]);
  }
  device_.launch(end);
}

void DeviceEngine::divide_special(std::span<RnsPoly> out, const Division& division) const {
  const size_t n = ring().n(), polys = out.size();
  const Basis basis = division.x[0].basis();
  const DeviceConverter& by = tables_.mod_down(level_of(basis), basis.p, out[0].basis().q == basis.q - 1);
  const int sources = by.host->source_count(), targets = by.host->target_count();
  PSM_CHECK(targets == out[0].limbs(), targets, " limbs");
  Buffer residues = room(polys * static_cast<size_t>(sources));
  Buffer remainders = room(polys * static_cast<size_t>(targets));
  std::vector<NttTask> inverse, forward;
  std::vector<Conversion> conversions;
  for (size_t i = 0; i < polys; ++i) {
    uint64_t* const y = residues.data() + i * static_cast<size_t>(sources) * n;
    uint64_t* const r = remainders.data() + i * static_cast<size_t>(targets) * n;
    for (int s = 0; s < sources; ++s) {
      const int prime = by.host->source(s);
      inverse.push_back({division.x[i].limb(ring().limb_of(basis, prime)), y + static_cast<size_t>(s) * n,
                         by.last + 2 * s, prime});
    }
    for (int t = 0; t < targets; ++t) {
      uint64_t* const limb = r + static_cast<size_t>(t) * n;
      forward.push_back({limb, limb, nullptr, by.host->target(t)});
    }
    conversions.push_back({y, r, by.matrix, by.moduli, by.reciprocals, sources, targets});
  }
  transform(NttDirection::kInverse, inverse);
  convert(conversions);
  transform(NttDirection::kForward, forward);
  finish_division(out, division, remainders, by.inverses);
}

void DeviceEngine::divide_last(std::span<RnsPoly> out, std::span<const RnsPoly> x) const {
  const size_t n = ring().n();
  const Basis to = out[0].basis();
  const int last = to.q;
  Buffer residues = room(2), remainders = room(2 * static_cast<size_t>(to.q));
  std::vector<NttTask> inverse, forward;
  ReduceCentered reduce{ring().log_n(), primes_of(to), last, {}, {}};
  for (size_t i : {0, 1}) {
    uint64_t* const y = residues.data() + i * n;
    uint64_t* const r = remainders.data() + i * static_cast<size_t>(to.q) * n;
    inverse.push_back({x[i].limb(last), y, tables_.last(last), last});
    reduce.in[i] = y;
    reduce.out[i] = r;
    for (int j = 0; j < to.q; ++j) {
      uint64_t* const limb = r + static_cast<size_t>(j) * n;
      forward.push_back({limb, limb, nullptr, j});
    }
  }
  transform(NttDirection::kInverse, inverse);
  device_.launch(reduce);
  transform(NttDirection::kForward, forward);
  finish_division(out, {x}, remainders, tables_.rescale_inverses(Level::at(last)));
}

// ---- digits and keys -------------------------------------------------------------------------------------

Digits DeviceEngine::decompose(const RnsPoly& c, int p_count) const {
  const size_t n = ring().n();
  const Level level = level_of(c.basis());
  Digits digits = room_for_digits(context(), c, p_count);
  Buffer y = room(static_cast<size_t>(level) + 1);
  std::vector<NttTask> inverse, forward;
  std::vector<Conversion> conversions;
  for (int d = 0; d < digits.count; ++d) {
    const DeviceConverter& by = tables_.mod_up(level, d, p_count);
    const int sources = by.host->source_count(), targets = by.host->target_count();
    uint64_t* const extension = digits.extensions[d].data();
    for (int s = 0; s < sources; ++s) {
      const int j = by.host->source(s);
      inverse.push_back({c.limb(j), y.data() + static_cast<size_t>(j) * n, by.last + 2 * s, j});
    }
    for (int t = 0; t < targets; ++t) {
      uint64_t* const limb = extension + static_cast<size_t>(t) * n;
      forward.push_back({limb, limb, nullptr, by.host->target(t)});
    }
    conversions.push_back({y.data() + static_cast<size_t>(by.host->source(0)) * n, extension, by.matrix,
                           by.moduli, by.reciprocals, sources, targets});
  }
  transform(NttDirection::kInverse, inverse);
  convert(conversions);
  transform(NttDirection::kForward, forward);
  digits.transformed = true;
  return digits;
}

void DeviceEngine::multiply_key(const Digits* digits, const KeySwitchKey* key, Basis basis,
                                const Addends& addends, const Permutation& permutation,
                                const Stretch& stretch) const {
  KeyProduct program{};
  program.log_n = ring().log_n();
  program.primes = primes_of(basis);
  program.first = stretch.first;
  program.limbs = stretch.limbs;
  program.factor = addends.factor;
  program.permutation = permutation;
  program.accumulate = stretch.accumulate;
  for (size_t i : {0, 1}) {
    program.addend[i] = addends.polys[i] == nullptr ? nullptr : here(*addends.polys[i]);
    program.out[i] = stretch.out[i];
  }
  if (key != nullptr) {
    PSM_CHECK(key->p_count == basis.p && key->level + 1 >= basis.q && digits->basis == basis &&
                  digits->count <= kMaxDigits && static_cast<int>(key->digits.size()) >= digits->count,
              "key level ", key->level, " basis ", basis.q, "+", basis.p);
    program.digits = digits->count;
    program.own = digits->limb(0)[0];  // the first digit's own
    for (int j = 0; j < basis.limbs(); ++j) {
      const PackedPoly& of_key = key->digits[0].b;
      const int limb = j < basis.q ? j : int{key->level} + 1 + j - basis.q;
      const auto words = static_cast<size_t>(of_key.limb(limb) - of_key.limb(0)) / sizeof(uint64_t);
      PSM_CHECK(words % KeyProduct::kKeyUnit == 0, words, " words");
      program.key_words[j] = static_cast<uint32_t>(words / KeyProduct::kKeyUnit);
      if (j >= stretch.first && j < stretch.first + stretch.limbs)
        program.key_bytes += 2 * static_cast<uint64_t>(digits->count) * of_key.limb_bytes(limb);
    }
    for (int d = 0; d < digits->count; ++d) {
      const DigitRange own = context().digit(d, level_of(basis));
      const auto words = [](const PackedPoly& poly) {
        return reinterpret_cast<const uint64_t*>(poly.limb(0));
      };
      program.digit[d] = {digits->extensions[d].data(), words(key->digits[d].b), words(key->digits[d].a),
                          own.begin, own.end};
    }
  }
  device_.launch(program);
}

Engine::Pair DeviceEngine::switch_key(const RnsPoly& c, const KeySwitchKey& key,
                                      const SwitchOptions& options) const {
  return switch_key(decompose(c, key.p_count), key, options);
}

Engine::Pair DeviceEngine::switch_key(const Digits& digits, const KeySwitchKey& key,
                                      const SwitchOptions& options) const {
  const Basis basis = digits.basis;
  Pair x = make_pair(basis);
  const std::array<const RnsPoly*, 2> addends = {options.addend0, options.addend1};
  // Divided by P alone, P a_i comes out as a_i and is added then; divided by P q_l it has to go in.
  Addends before;
  if (options.rescale) before = {addends, tables_.p_products(basis.p)};
  multiply_key(&digits, &key, basis, before, {}, {0, basis.limbs(), {here(x[0]), here(x[1])}});
  Pair out = make_pair({basis.q - (options.rescale ? 1 : 0), 0});
  Division division{x, {}, permutation_of(options.automorphism)};
  if (!options.rescale) division.addends = addends;
  divide_special(out, division);
  return out;
}

Engine::Pair DeviceEngine::switch_extended(const std::array<RnsPoly, 2>& x, const GaloisStep& step) const {
  const Basis basis = x[0].basis();
  RnsPoly c1 = make({basis.q, 0});
  divide_special({&c1, 1}, {{&x[1], 1}});
  const Digits digits = decompose(c1, basis.p);
  Pair out = make_pair(basis);
  multiply_key(&digits, step.key, basis, {{&x[0], nullptr}, nullptr}, permutation_of(step.element),
               {0, basis.limbs(), {here(out[0]), here(out[1])}});
  return out;
}

// ---- sums over rotations ---------------------------------------------------------------------------------

Basis DeviceEngine::basis_of(const SwitchedSource& source) const {
  const Level level = source.from->level();
  return {level + 1, context().p_count(level)};
}

void DeviceEngine::switch_source(const SwitchedSource& source, const Stretch& stretch) const {
  const Basis basis = basis_of(source);
  const Ciphertext& c = *source.from->source;
  const Multiplier* p = tables_.p_products(basis.p);
  if (source.step->key == nullptr) {
    multiply_key(nullptr, nullptr, basis, {{&c.c[0], &c.c[1]}, p}, {}, stretch);
  } else {
    multiply_key(&source.from->digits, source.step->key, basis, {{&c.c[0], nullptr}, p},
                 permutation_of(source.step->element), stretch);
  }
}

Engine::Pair DeviceEngine::sum_switched(std::span<const SwitchedSource> sources) const {
  PSM_CHECK(!sources.empty());
  const Basis basis = basis_of(sources[0]);
  Pair sum = make_pair(basis);
  for (size_t k = 0; k < sources.size(); ++k)
    switch_source(sources[k], {0, basis.limbs(), {here(sum[0]), here(sum[1])}, k > 0});
  return sum;
}

std::vector<Engine::Pair> DeviceEngine::weighted_sums(std::span<const SwitchedSource> sources,
                                                      std::span<const WeightBlock> blocks,
                                                      size_t count) const {
  std::vector<Pair> sums(count);
  if (blocks.empty()) return sums;
  const size_t n = ring().n();
  const Basis basis = basis_of(sources[0]);
  size_t widest = 0;
  for (const WeightBlock& block : blocks)
    widest = std::max(widest, static_cast<size_t>(block.last_source - block.first_source));
  PSM_CHECK(widest <= kMaxMatrixColumns, widest, " sources together");
  const size_t together =
      std::clamp<size_t>(kSwitchedWords / (2 * widest * n), 1, static_cast<size_t>(basis.limbs()));
  Buffer switched = room(2 * widest * together);
  for (const WeightBlock& block : blocks) {
    for (int first = 0; first < basis.limbs(); first += static_cast<int>(together)) {
      const int limbs = std::min(static_cast<int>(together), basis.limbs() - first);
      const size_t words = static_cast<size_t>(limbs) * n;
      for (int s = block.first_source; s < block.last_source; ++s) {
        uint64_t* const to = switched.data() + 2 * static_cast<size_t>(s - block.first_source) * words;
        switch_source(sources[s], {first, limbs, {to, to + words}});
      }
      for (const WeightTile& tile : block.tiles)
        multiply_tile(tile, block, {first, limbs}, basis, switched, sums);
    }
  }
  return sums;
}

void DeviceEngine::multiply_tile(const WeightTile& tile, const WeightBlock& block, const LimbRange& range,
                                 Basis basis, const Buffer& switched, std::vector<Pair>& sums) const {
  const size_t n = ring().n();
  const auto all = static_cast<int>(tile.sums.size());
  for (int first_row = 0; first_row < all; first_row += kMaxMatrixRows) {
    MatrixProduct program{};
    program.log_n = ring().log_n();
    program.log_run = std::countr_zero(n / static_cast<size_t>(tile.values_per_limb));
    program.primes = primes_of(basis);
    program.first = range.first;
    program.limbs = range.limbs;
    program.rows = std::min(kMaxMatrixRows, all - first_row);
    program.cols = static_cast<int>(tile.sources.size());
    program.weight_rows = all;
    program.first_row = first_row;
    program.by_runs = tile.by_runs(n);
    program.accumulate = tile.accumulate;
    program.weights = tile.weights.data();
    program.sources = switched.data();
    for (int r = 0; r < program.rows; ++r) {
      Pair& sum = sums[static_cast<size_t>(tile.sums[first_row + r])];
      if (sum[0].empty()) sum = make_pair(basis);
      for (size_t half : {0, 1}) program.out[r][half] = here(sum[half]);
    }
    for (int k = 0; k < program.cols; ++k)
      program.source[k] = static_cast<uint8_t>(tile.sources[k] - block.first_source);
    device_.launch(program);
  }
}

std::vector<Engine::Pair> DeviceEngine::divide_weighted(std::span<const SwitchedSource> sources,
                                                        std::span<const Plaintext* const> weights) const {
  std::vector<Pair> out;
  for (size_t k = 0; k < sources.size(); ++k) {
    Pair x = sum_switched(sources.subspan(k, 1));
    multiply_plain(x, x, *weights[k]);
    divide_special(out.emplace_back(make_pair({x[0].basis().q - 1, 0})), {x});
  }
  return out;
}

}  // namespace psm::ckks
