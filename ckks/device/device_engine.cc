// Sums and products, changes of level, transforms and changes of basis, and plaintexts, whose coefficients the host has
// computed; key switching is in device_switching.cc.
#include "ckks/device/device_engine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// The ring is that of a file's header.
void require_limits(const Context& context) {
  const auto refuse = [](const auto&... parts) {
    throw Error(message("a device computes ", parts..., "; compute without --device"));
  };
  if (context.log_n() < kMinDeviceLogN || context.log_n() > kMaxDeviceLogN) {
    refuse("in rings of 2^", kMinDeviceLogN, " to 2^", kMaxDeviceLogN, " coefficients, and this one has 2^",
           context.log_n());
  }
  if (const int primes = context.ring().full_basis().limbs(); primes > kMaxDeviceLimbs)
    refuse("with at most ", kMaxDeviceLimbs, " primes, and these parameters have ", primes);
  for (const Gadget& band : context.chain().bands) {
    if (band.digits.size() > kMaxDigits)
      refuse("with at most ", kMaxDigits, " digits, and these parameters have ", band.digits.size());
    // A division is by special primes and one more.
    int most = band.p_count + 1;
    for (const DigitRange& digit : band.digits) most = std::max(most, digit.end - digit.begin);
    if (most > kMaxConversionSources)
      refuse("changes of basis from at most ", kMaxConversionSources, " primes, and these parameters have ",
             most);
  }
}

// A launch of `count` elements of a list goes on where the one before ended.
template <class Launch>
void in_pieces(size_t all, size_t at_most, const Launch& launch) {
  for (size_t begin = 0; begin < all; begin += at_most) launch(begin, std::min(at_most, all - begin));
}

// Launches of the tasks, those of one prime together.
template <class Launch>
void in_batches(const PrimeView* views, int log_n, std::vector<NttTask>& tasks, const Launch& launch) {
  std::ranges::stable_sort(tasks, {}, &NttTask::prime);
  in_pieces(tasks.size(), kMaxNttTasks, [&](size_t begin, size_t count) {
    NttBatch batch{views, log_n, static_cast<int>(count), {}};
    std::copy_n(tasks.data() + begin, count, batch.tasks);
    launch(batch);
  });
}

}  // namespace

// Values are uploaded as words.
template <class T>
const T* DeviceEngine::keep(std::span<const T> values) const {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t words = (values.size_bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  std::vector<uint64_t> host(words);
  std::memcpy(host.data(), values.data(), values.size_bytes());
  Buffer& room = kept_.emplace_back(words, &device_);
  device_.upload(room.data(), host.data(), words);
  return reinterpret_cast<const T*>(room.data());
}

DeviceEngine::DeviceEngine(const Context& context, Device& device)
    : Engine(context), device_(device), converters_(context) {
  require_limits(context);
  std::vector<PrimeView> views;
  for (int i = 0; i < ring().full_basis().limbs(); ++i)
    views.push_back(prime_view(ring().ntt(i), [&](const std::vector<double>& table) {
      return keep(std::span<const double>(table));
    }));
  views_ = keep(std::span<const PrimeView>(views));
}

const DeviceConverter& DeviceEngine::converter(const BasisConverter& host) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = by_converter_.find(&host); found != by_converter_.end()) return found->second;
  std::vector<double> last, inverses;
  for (int s = 0; s < host.source_count(); ++s) {
    const std::vector<double> factors = last_factors(host.inverse_transform(s));
    last.insert(last.end(), factors.begin(), factors.end());
  }
  for (int t = 0; t < host.target_count(); ++t)
    inverses.push_back(centred(host.inverse_product(t).value, ring().modulus(host.target(t))));
  return by_converter_[&host] = {&host, keep(host.matrix()), keep(host.reciprocals()),
                                 keep(std::span<const double>(last)),
                                 keep(std::span<const double>(inverses))};
}

const double* DeviceEngine::p_products(int p_count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double*& kept = p_products_[p_count];
  if (kept != nullptr) return kept;
  std::vector<double> products;
  for (int j = 0; j < ring().q_count(); ++j)
    products.push_back(centred(converters_.p_product(j, p_count).value, ring().q(j)));
  return kept = keep(std::span<const double>(products));
}

Permutation DeviceEngine::permutation(GaloisElement g) const {
  if (g == 1) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = permutations_.find(g); found != permutations_.end()) return found->second;
  const auto table = automorphism_table(g, ring().log_n());
  const AutomorphismView view = *table;
  return permutations_[g] = {keep(std::span<const uint32_t>(view.blocks, view.n / 8)),
                             keep(std::span<const uint64_t>(view.permutations[0], 64))};
}

const uint64_t* DeviceEngine::here(const RnsPoly& poly) const {
  PSM_CHECK(poly.memory() == &device_, "an operand that is not in the device's memory");
  return poly.limb(0);
}
uint64_t* DeviceEngine::here(RnsPoly& poly) const { return const_cast<uint64_t*>(here(std::as_const(poly))); }

template <NttDirection kDirection>
void DeviceEngine::transform_rows(int log_n, std::vector<NttTask>& tasks) const {
  in_batches(views_, log_n, tasks, [&](const NttBatch& batch) {
    device_.launch(NttRows<kDirection>{{}, batch});
  });
}
template void DeviceEngine::transform_rows<NttDirection::kForward>(int, std::vector<NttTask>&) const;

template <NttDirection kDirection>
void DeviceEngine::transform_columns(int log_n, std::vector<NttTask>& tasks) const {
  in_batches(views_, log_n, tasks, [&](const NttBatch& batch) {
    with_column_bits(
        log_n, [&](auto bits) { device_.launch(NttColumns<decltype(bits)::value, kDirection>{batch}); });
  });
}
template void DeviceEngine::transform_columns<NttDirection::kForward>(int, std::vector<NttTask>&) const;
template void DeviceEngine::transform_columns<NttDirection::kInverse>(int, std::vector<NttTask>&) const;

void DeviceEngine::transform_back(std::vector<NttTask> tasks) const {
  transform_rows<NttDirection::kInverse>(ring().log_n(), tasks);
  transform_columns<NttDirection::kInverse>(ring().log_n(), tasks);
}

void DeviceEngine::convert(Basis basis, std::span<const Conversion> conversions) const {
  in_pieces(conversions.size(), kMaxConversions, [&](size_t begin, size_t count) {
    with_column_bits(ring().log_n(), [&](auto bits) {
      using Program = ConvertColumns<decltype(bits)::value>;
      Program program{ring().log_n(), primes_of(basis), static_cast<int>(count), 0, {}};
      for (size_t i = 0; i < count; ++i) {
        const Conversion& c = program.conversions[i] = conversions[begin + i];
        program.groups = std::max(program.groups, (c.targets + Program::kTargets - 1) / Program::kTargets);
      }
      device_.launch(program);
    });
  });
}

template <class Program>
Program DeviceEngine::elementwise(std::span<RnsPoly> out) const {
  Program program{};
  program.log_n = ring().log_n();
  program.primes = primes_of(out[0].basis());
  program.polys = static_cast<int>(out.size());
  for (size_t i = 0; i < out.size(); ++i) program.out[i] = here(out[i]);
  return program;
}

template <class Program>
Program DeviceEngine::with_numbers(Arithmetic arithmetic, std::span<RnsPoly> out,
                                   std::span<const RnsPoly> a) const {
  auto program = elementwise<Program>(out);
  program.adds = arithmetic == Arithmetic::kAdd;
  for (size_t i = 0; i < out.size(); ++i) program.a[i] = here(a[i]);
  return program;
}

void DeviceEngine::accumulate_terms(std::span<RnsPoly> out, std::span<const Term> terms,
                                    bool accumulate) const {
  in_pieces(terms.size(), kMaxTerms, [&](size_t begin, size_t count) {
    auto program = elementwise<Combine>(out);
    program.terms = static_cast<int>(count);
    program.accumulate = accumulate || begin > 0;
    for (size_t t = 0; t < count; ++t) {
      const Term& term = terms[begin + t];
      program.factor[t] = term.factor;
      for (size_t i = 0; i < out.size(); ++i) program.a[t][i] = here(term.polys[i]);
    }
    device_.launch(program);
  });
}

void DeviceEngine::with_constant(Arithmetic arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                                 GaussianInteger z) const {
  auto program = with_numbers<GaussianProduct>(arithmetic, out, a);
  for (int j = 0; j < out[0].limbs(); ++j) {
    const GaussianResidue c = gaussian_residue(z, ring().ntt(out[0].prime_index(j)));
    program.z[j][0] = c.low;
    program.z[j][1] = c.high;
  }
  device_.launch(program);
}

void DeviceEngine::with_plain(Arithmetic arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                              const Plaintext& b) const {
  PSM_CHECK(b.memory() == &device_, "a plaintext that is not in the device's memory");
  auto program = with_numbers<PlainProduct>(arithmetic, out, a);
  program.log_run = std::countr_zero(static_cast<unsigned>(b.run_length()));
  program.b = b.limb(0);
  device_.launch(program);
}

void DeviceEngine::multiply_sums(std::span<const Sum> sums) const {
  for (const Sum& sum : sums) {
    in_pieces(sum.factors.size(), kMaxFactors, [&](size_t begin, size_t count) {
      auto program = elementwise<ProductSums>(sum.out);
      program.count = static_cast<int>(count);
      program.doubled = sum.doubled;
      program.accumulate = begin > 0;
      for (size_t k = 0; k < count; ++k) {
        for (size_t i : {0, 1}) {
          program.a[k][i] = here(sum.factors[begin + k].a->c[i]);
          program.b[k][i] = here(sum.factors[begin + k].b->c[i]);
        }
      }
      device_.launch(program);
    });
    if (!sum.terms.empty()) accumulate_terms(sum.out.first(2), sum.terms, true);
  }
}

Engine::Pair DeviceEngine::raise(const std::array<RnsPoly, 2>& a, Level level) const {
  const size_t n = ring().n();
  const DeviceConverter& by = converter(converters_.lift(1, level));
  Pair out = make_pair({level + 1, 0});
  Buffer coefficients = room(2);
  std::vector<NttTask> inverse, forward;
  std::vector<Conversion> conversions;
  for (size_t i : {0, 1}) {
    uint64_t* const y = coefficients.data() + i * n;
    inverse.push_back({here(a[i]), y, by.last, 0});
    conversions.push_back({y, here(out[i]) + n, by.matrix, by.reciprocals, 1, by.host->target_count(), 0, 1});
    for (int j = 1; j <= level; ++j) forward.push_back({out[i].limb(j), out[i].limb(j), nullptr, j});
    device_.copy(here(out[i]), here(a[i]), n);
  }
  transform_back(inverse);
  if (level > 0) {
    convert({level + 1, 0}, conversions);
    transform_rows<NttDirection::kForward>(ring().log_n(), forward);
  }
  return out;
}

Engine::Pair DeviceEngine::divide(const std::array<RnsPoly, 2>& x, Basis to) const {
  Pair out = make_pair(to);
  const Basis from = x[0].basis();
  divide_by(from, out, {.x = x});
  return out;
}

Buffer DeviceEngine::residues(const CoefficientTile& tile, Basis basis) const {
  const auto limbs = static_cast<size_t>(basis.limbs());
  const int log_values = std::countr_zero(tile.values);
  PSM_CHECK(tile.coefficients.size() == tile.limb_words(), tile.coefficients.size(), " coefficients");
  Buffer out(limbs * tile.limb_words(), &device_), coefficients(tile.limb_words(), &device_);
  device_.upload(coefficients.data(), reinterpret_cast<const uint64_t*>(tile.coefficients.data()),
                 tile.limb_words());
  const EncodeTile all{primes_of(basis),
                       log_values,
                       static_cast<int>(tile.rows),
                       static_cast<int>(tile.cols),
                       tile.by_runs ? static_cast<int>(kMatrixRows) : 0,
                       tile.largest >= 0x1p62,
                       reinterpret_cast<const double*>(coefficients.data()),
                       out.data()};
  if (log_values <= EncodeBlock::kLogMost) {
    device_.launch(EncodeBlock{all});
    return out;
  }
  // One plaintext lies as its transforms do.
  const bool is_spread = tile.plaintexts() > 1;
  Buffer apart = is_spread ? Buffer(out.size(), &device_) : Buffer();
  ReduceCoefficients reduce{{all, {}}};
  if (is_spread) reduce.out = apart.data();
  device_.launch(reduce);
  std::vector<NttTask> tasks;
  for (size_t i = 0; i < limbs * tile.plaintexts(); ++i) {
    uint64_t* const limb = reduce.out + i * tile.values;
    tasks.push_back({limb, limb, nullptr, ring().prime_index(basis, static_cast<int>(i % limbs))});
  }
  transform_columns<NttDirection::kForward>(log_values, tasks);
  transform_rows<NttDirection::kForward>(log_values, tasks);
  if (is_spread) device_.launch(SpreadValues{{all, {}}, reduce.out});
  return out;
}

EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory) {
  EvaluationKeys keys;
  keys.fingerprint = {context.fingerprint(), 0};
  for (const KeyName& name : request.keys(context.chain())) {
    KeySwitchKey key{.level = name.level, .p_count = name.p_count, .fingerprint = keys.fingerprint};
    const Basis basis{name.level + 1, name.p_count};
    for (int d = 0; d < name.digits; ++d)
      key.digits.push_back(
          {PackedPoly(context.ring(), basis, &memory), PackedPoly(context.ring(), basis, &memory)});
    keys.keys.emplace(use_of(context, name), std::move(key));
  }
  return keys;
}

}  // namespace psm::ckks
