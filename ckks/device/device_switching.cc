// Divisions, key switching, and sums over rotations.
#include <algorithm>
#include <bit>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/device/device_engine.h"
#include "ckks/ring/arithmetic/packing.h"

namespace psm::ckks {
namespace {

// Rotations that are multiplied with weights stand in memory before that, as many limbs at a time as fit.
constexpr size_t kSwitchedWords = size_t{1} << 27;

}  // namespace

// ---- divisions -------------------------------------------------------------------------------------------

void DeviceEngine::divide_by(Basis from, std::span<RnsPoly> out, const Division& division) const {
  const size_t n = ring().n(), polys = out.size();
  const Basis to = out[0].basis();
  const DeviceConverter& by = converter(converters_.mod_down(level_of(from), from.p, to.q == from.q - 1));
  const int sources = by.host->source_count(), targets = by.host->target_count();
  PSM_CHECK(targets == to.limbs(), targets, " limbs");
  Buffer residues = room(polys * static_cast<size_t>(sources));
  Buffer remainders = room(polys * static_cast<size_t>(targets));
  std::vector<NttTask> inverse;
  std::vector<Conversion> conversions;
  std::vector<int> limbs;
  for (int s = 0; s < sources; ++s) limbs.push_back(ring().limb_of(from, by.host->source(s)));
  const bool is_keyed = division.x.empty();
  for (size_t i = 0; i < polys; ++i) {
    uint64_t* const y = residues.data() + i * static_cast<size_t>(sources) * n;
    for (int s = 0; s < sources; ++s) {
      uint64_t* const to_limb = y + static_cast<size_t>(s) * n;
      const uint64_t* const x = is_keyed ? to_limb : here(division.x[i]) + static_cast<size_t>(limbs[s]) * n;
      inverse.push_back({x, to_limb, by.last + 2 * s, by.host->source(s)});
    }
    conversions.push_back({y, remainders.data() + i * static_cast<size_t>(targets) * n, by.matrix,
                           by.reciprocals, sources, targets, 0, 0});
  }
  if (is_keyed) {
    KeyRows program = key_program<KeyRows>(division.source.digits, from, from, division.factor);
    program.source = add_source(program, from, division.source, 0, limbs);
    program.count = sources;
    std::copy(limbs.begin(), limbs.end(), program.limb);
    program.out = residues.data();
    device_.launch(program);
    transform_columns<NttDirection::kInverse>(ring().log_n(), inverse);
  } else {
    transform_back(std::move(inverse));
  }
  convert(to, conversions);

  DivideRows program = key_program<DivideRows>(division.source.digits, from, to, division.factor);
  if (is_keyed) {
    std::vector<int> all(static_cast<size_t>(targets));
    std::iota(all.begin(), all.end(), 0);
    program.source = add_source(program, from, division.source, 0, all);
  }
  program.polys = static_cast<int>(polys);
  program.limbs = targets;
  program.r = remainders.data();
  program.inverse = by.inverses;
  program.destination = permutation(inverse_element(division.automorphism, ring().log_n()));
  for (size_t i = 0; i < polys; ++i) {
    program.x[i] = is_keyed ? nullptr : here(division.x[i]);
    program.a[i] = division.addends[i] == nullptr ? nullptr : here(*division.addends[i]);
    program.out[i] = here(out[i]);
  }
  device_.launch(program);
}

// ---- digits and keys -------------------------------------------------------------------------------------

Digits DeviceEngine::decompose(const RnsPoly& c, int p_count, bool raised) const {
  const size_t n = ring().n();
  const Level level = level_of(c.basis());
  Digits digits = room_for_digits(context(), c, p_count, raised);
  Buffer y = room(raised ? 1 : static_cast<size_t>(level) + 1);
  std::vector<NttTask> inverse, forward;
  std::vector<Conversion> conversions;
  for (int d = 0; d < digits.count; ++d) {
    const DeviceConverter& by = converter(raised ? converters_.lift(ring().q_count(), p_count)
                                                 : converters_.mod_up(level, d, p_count));
    const int sources = by.host->source_count(), targets = by.host->target_count();
    const DigitRange own = digits.own(context(), d);
    uint64_t* const extension = digits.extensions[d].data();
    for (int s = 0; s < sources; ++s) {
      const size_t j = static_cast<size_t>(by.host->source(s));
      inverse.push_back({here(c) + j * n, y.data() + j * n, by.last + 2 * s, by.host->source(s)});
    }
    for (int t = 0; t < targets; ++t) {
      uint64_t* const limb = extension + static_cast<size_t>(t) * n;
      forward.push_back({limb, limb, nullptr, by.host->target(t)});
    }
    conversions.push_back({y.data() + static_cast<size_t>(own.begin) * n, extension, by.matrix,
                           by.reciprocals, sources, targets, own.begin, own.end - own.begin});
  }
  transform_back(std::move(inverse));
  convert(digits.basis, conversions);
  transform_rows<NttDirection::kForward>(ring().log_n(), forward);
  digits.transformed = true;
  return digits;
}

template <class Program>
Program DeviceEngine::key_program(const Digits* digits, Basis basis, Basis primes,
                                  const double* factor) const {
  Program program{};
  program.log_n = ring().log_n();
  program.primes = primes_of(primes);
  program.factor = factor;
  uint64_t words = 0;
  for (int j = 0; j < basis.limbs(); ++j) {
    if (j == basis.q) words = 0;
    PSM_CHECK(words % KeyLayout::kUnit == 0, words, " words");
    program.layout.words[j] = static_cast<uint32_t>(words / KeyLayout::kUnit);
    words += packed_bytes(ring().n(), ring().modulus(ring().prime_index(basis, j)).value) / sizeof(uint64_t);
  }
  const int count = digits == nullptr ? 0 : digits->count;
  PSM_CHECK(count <= kMaxDigits, count, " digits");
  for (int d = 0; d < count; ++d) {
    const DigitRange own = digits->own(context(), d);
    program.layout.own_begin[d] = static_cast<uint8_t>(own.begin);
    program.layout.own_end[d] = static_cast<uint8_t>(own.end);
  }
  return program;
}

template <class Program>
KeySource DeviceEngine::add_source(Program& program, Basis basis, const KeyedSource& from, int first,
                                   std::span<const int> limbs) const {
  KeySource source{};
  for (size_t i : {0, 1}) source.addend[i] = from.addends[i] == nullptr ? nullptr : here(*from.addends[i]);
  if (from.key == nullptr) return source;
  const Digits& digits = *from.digits;
  const KeySwitchKey& key = *from.key;
  PSM_CHECK(key.p_count == basis.p && key.level + 1 >= basis.q && digits.basis == basis &&
                static_cast<int>(key.digits.size()) >= digits.count,
            "key level ", key.level, " basis ", basis.q, "+", basis.p);
  const PackedPoly& layout = key.digits[0].b;
  source.own = digits.limb(0)[0];  // the first digit's own
  source.first = static_cast<uint16_t>(first);
  source.digits = static_cast<uint16_t>(digits.count);
  source.special = static_cast<uint32_t>(static_cast<size_t>(layout.limb(key.level + 1) - layout.limb(0)) /
                                         (sizeof(uint64_t) * KeyLayout::kUnit));
  const auto words = [&](const PackedPoly& poly) {
    PSM_CHECK(poly.memory() == &device_, "a key that is not in the device's memory");
    return reinterpret_cast<const uint64_t*>(poly.limb(0));
  };
  for (int d = 0; d < digits.count; ++d)
    program.digit[first + d] = {digits.extensions[d].data(), words(key.digits[d].b), words(key.digits[d].a)};
  for (const int j : limbs) {
    const int limb = j < basis.q ? j : int{key.level} + 1 + j - basis.q;
    program.key_bytes += 2 * static_cast<uint64_t>(digits.count) * layout.limb_bytes(limb);
  }
  return source;
}

Engine::Pair DeviceEngine::switch_key(const Digits& digits, const KeySwitchKey& key,
                                      const SwitchOptions& options) const {
  const Basis basis = digits.basis;
  const std::array<const RnsPoly*, 2> addends = {options.addend0, options.addend1};
  // Divided by P alone, P a_i comes out as a_i and is added then; divided by P q_l it has to go in.
  Division division{.source = {&digits, &key, {}}, .automorphism = options.automorphism};
  if (options.rescale) {
    division.source.addends = addends;
    division.factor = p_products(basis.p);
  } else {
    division.addends = addends;
  }
  Pair out = make_pair({basis.q - (options.rescale ? 1 : 0), 0});
  divide_by(basis, out, division);
  return out;
}

Engine::Pair DeviceEngine::giant_step(const Pair& x, const GaloisStep& step, const Pair* y) const {
  const Basis basis = extended_basis(level_of(x[0].basis()));
  const bool is_extended = x[0].basis().p > 0;
  RnsPoly divided;
  if (is_extended) {
    divided = {ring(), {basis.q, 0}, Form::kNtt, &device_};
    divide_by(basis, {&divided, 1}, {.x = {&x[1], 1}});
  }
  const Digits digits = decompose(is_extended ? divided : x[1], basis.p, false);
  Pair out = make_pair(basis);
  const double* const factor = p_products(basis.p);
  const Rotation rotation{{&digits, step.key, {&x[0], nullptr}}, step.element, {here(out[0]), here(out[1])}};
  multiply_keys(basis, is_extended ? nullptr : factor, {&rotation, 1}, {0, basis.limbs()});
  if (y == nullptr) return out;
  if ((*y)[0].basis().p > 0) {
    const Term terms[] = {{*y, 1}};
    accumulate_terms(out, terms, true);
  } else {
    const Rotation unmoved{{nullptr, nullptr, {&(*y)[0], &(*y)[1]}}, 1, rotation.out};
    multiply_keys(basis, factor, {&unmoved, 1}, {.limbs = basis.limbs(), .sum = true, .accumulate = true});
  }
  return out;
}

// ---- sums over rotations ---------------------------------------------------------------------------------

void DeviceEngine::multiply_keys(Basis basis, const double* factor, std::span<const Rotation> rotations,
                                 const Stretch& stretch) const {
  std::vector<int> limbs(static_cast<size_t>(stretch.limbs));
  std::iota(limbs.begin(), limbs.end(), stretch.first);
  // All that have digits have them of the same primes.
  const Digits* digits = nullptr;
  for (const Rotation& rotation : rotations)
    if (rotation.source.digits != nullptr) digits = rotation.source.digits;
  for (size_t k = 0; k < rotations.size();) {
    KeyProduct program = key_program<KeyProduct>(digits, basis, basis, factor);
    program.first = stretch.first;
    program.limbs = stretch.limbs;
    program.summed = stretch.sum;
    program.accumulate = stretch.sum && (stretch.accumulate || k > 0);
    for (int taken = 0; k < rotations.size() && program.count < kMaxKeySources; ++k) {
      const Rotation& rotation = rotations[k];
      const int more = rotation.source.key == nullptr ? 0 : rotation.source.digits->count;
      if (taken + more > kMaxSourceDigits) break;
      KeyProduct::Source& source = program.source[program.count++];
      static_cast<KeySource&>(source) = add_source(program, basis, rotation.source, taken, limbs);
      source.permutation = permutation(rotation.automorphism);
      for (size_t i : {0, 1}) source.out[i] = stretch.sum ? rotations[0].out[i] : rotation.out[i];
      taken += more;
    }
    device_.launch(program);
  }
}

DeviceEngine::Rotation DeviceEngine::rotation_of(const SwitchedSource& source,
                                                 std::array<uint64_t*, 2> out) const {
  const Ciphertext& c = *source.from->source;
  if (source.step->key == nullptr) return {{nullptr, nullptr, {&c.c[0], &c.c[1]}}, 1, out};
  return {{&source.from->digits, source.step->key, {&c.c[0], nullptr}}, source.step->element, out};
}

Engine::Pair DeviceEngine::sum_switched(std::span<const SwitchedSource> sources) const {
  PSM_CHECK(!sources.empty());
  const Basis basis = extended_basis(sources[0].from->level());
  Pair sum = make_pair(basis);
  std::vector<Rotation> rotations;
  for (const SwitchedSource& source : sources)
    rotations.push_back(rotation_of(source, {here(sum[0]), here(sum[1])}));
  multiply_keys(basis, p_products(basis.p), rotations, {0, basis.limbs(), true});
  return sum;
}

void DeviceEngine::add_weighted(std::vector<Pair>& sums, std::span<const SwitchedSource> sources,
                                const WeightBlock& block) const {
  const size_t n = ring().n(), width = static_cast<size_t>(block.last_source - block.first_source);
  const Basis basis = block.basis;
  const double* const factor = basis.p > 0 ? p_products(basis.p) : nullptr;
  PSM_CHECK(width <= kMaxMatrixColumns, width, " sources together");
  const size_t together =
      std::clamp<size_t>(kSwitchedWords / (2 * width * n), 1, static_cast<size_t>(basis.limbs()));
  Buffer switched = room(2 * width * together);
  for (int first = 0; first < basis.limbs(); first += static_cast<int>(together)) {
    const int limbs = std::min(static_cast<int>(together), basis.limbs() - first);
    const size_t words = static_cast<size_t>(limbs) * n;
    std::vector<Rotation> rotations;
    for (int s = block.first_source; s < block.last_source; ++s) {
      uint64_t* const to = switched.data() + 2 * static_cast<size_t>(s - block.first_source) * words;
      rotations.push_back(rotation_of(sources[s], {to, to + words}));
    }
    const Stretch stretch{first, limbs};
    multiply_keys(basis, factor, rotations, stretch);
    for (const WeightTile& tile : block.tiles) multiply_tile(tile, block, stretch, switched, sums);
  }
}

void DeviceEngine::multiply_tile(const WeightTile& tile, const WeightBlock& block, const Stretch& stretch,
                                 const Buffer& switched, std::vector<Pair>& sums) const {
  const size_t n = ring().n();
  PSM_CHECK(tile.sources.size() <= kMaxMatrixColumns, tile.sources.size());
  PSM_CHECK(tile.weights.memory() == &device_, "weights that are not in the device's memory");
  const auto all = static_cast<int>(tile.sums.size());
  for (int first_row = 0; first_row < all; first_row += kMaxMatrixRows) {
    MatrixProduct program{};
    program.log_n = ring().log_n();
    program.log_run = std::countr_zero(n / static_cast<size_t>(tile.values_per_limb));
    program.primes = primes_of(block.basis);
    program.first = stretch.first;
    program.limbs = stretch.limbs;
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
      if (sum[0].empty()) sum = make_pair(block.basis);
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
    with_plain(Arithmetic::kMultiply, x, x, *weights[k]);
    const Basis basis = x[0].basis();
    divide_by(basis, out.emplace_back(make_pair({basis.q - 1, 0})), {.x = x});
  }
  return out;
}

}  // namespace psm::ckks
