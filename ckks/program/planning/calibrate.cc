#include "ckks/program/planning/calibrate.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/engine/host_engine.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/packed_poly.h"
#include "ckks/scheme/encoding/encoder.h"

namespace psm::program {
namespace {

double processor_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Times calls, and finds what share of the processors our threads had meanwhile.
class Stopwatch {
 public:
  // Seconds of calls, in ascending order: by the clock of those that ran undisturbed. A budget without any is
  // tried again, twice at most. Then they are the threads' shares of the processor time of all calls, which
  // other programs change little.
  template <typename Call>
  std::vector<double> times_of_calls(double budget, const Call& call) {
    call();  // first touch of memory
    std::vector<double> undisturbed, shares;
    const double start = seconds_now();
    double elapsed = 0;
    while (elapsed < budget || (elapsed < 3 * budget && (shares.size() < 16 || undisturbed.empty()))) {
      rusage before, after;
      getrusage(RUSAGE_SELF, &before);
      const double begin = seconds_now();
      call();
      const double seconds = seconds_now() - begin;
      getrusage(RUSAGE_SELF, &after);
      const double processor = processor_seconds(after) - processor_seconds(before);
      shares.push_back(processor / thread_count());
      processor_seconds_ += processor;
      if (after.ru_nivcsw == before.ru_nivcsw) undisturbed.push_back(seconds);
      elapsed = seconds_now() - start;
    }
    elapsed_ += elapsed;
    std::vector<double>& times = undisturbed.empty() ? shares : undisturbed;
    std::sort(times.begin(), times.end());
    return times;
  }

  bool machine_is_busy() const { return processor_seconds_ < kUsualShare * elapsed_ * thread_count(); }

 private:
  // An idle machine gives our threads more than nine tenths.
  static constexpr double kUsualShare = 0.85;
  double processor_seconds_ = 0, elapsed_ = 0;
};

ckks::RnsPoly filled(const ckks::Ring& ring, ckks::Basis basis) {
  ckks::RnsPoly poly(ring, basis, ckks::Form::kNtt);
  parallel_for(0, poly.limbs(), [&](int j) {
    uint64_t state = static_cast<uint64_t>(j) + 1;
    for (size_t i = 0; i < poly.n(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      poly.limb(j)[i] = state % poly.modulus(j).value;
    }
  });
  return poly;
}

// What a rotation takes as a whole, and what its kernels alone would: the sum leaves out that operands, digits and
// results go through memory and that threads wait for each other. Each call has operands and a key of its own, as in a
// pass. The middle one of `seconds` worth of calls.
double whole_over_parts(const ckks::Context& context, const KernelSeconds& parts, double seconds,
                        Stopwatch& stopwatch, double& spread) {
  const ckks::Ring& ring = context.ring();
  const ckks::Level level = context.compute_level();
  const ckks::Basis basis{level + 1, context.p_count(level)};
  struct Operands {
    ckks::RnsPoly c0, c1;
    ckks::KeySwitchKey key;
  };
  std::vector<Operands> all(3);  // more than most caches hold
  for (Operands& operands : all) {
    operands.c0 = filled(ring, {level + 1, 0}), operands.c1 = filled(ring, {level + 1, 0});
    operands.key = {.level = level, .p_count = basis.p};
    for (int d = 0; d < context.digit_count(level); ++d)
      operands.key.digits.push_back(
          {ckks::PackedPoly(filled(ring, basis)), ckks::PackedPoly(filled(ring, basis))});
  }
  const ckks::HostEngine engine(context);
  const ckks::GaloisElement element = ckks::rotation_element(1, context.log_n());
  size_t calls = 0;
  const auto times = stopwatch.times_of_calls(seconds, [&] {
    const Operands& now = all[calls++ % all.size()];
    engine.switch_key(now.c1, now.key, {.addend0 = &now.c0, .automorphism = element});
  });
  Program program;
  program.slots = static_cast<size_t>(context.slots());
  const Instruction rotate{.opcode = Opcode::kRotate, .offsets = {1}};
  spread = times[times.size() / 2] / times.front() - 1;
  return times[times.size() / 2] / CostModel(context.chain(), parts).seconds(rotate, program, level);
}

}  // namespace

std::string Calibration::caveat() const {
  return message(" (", busy ? "rough: other programs keep this machine busy; " : "", "spread ",
                 std::lround(100 * spread), "%)");
}

Calibration calibrate(const ckks::Context& context, double seconds) {
  const ckks::Ring& ring = context.ring();
  const ckks::Basis basis{ring.q_count(), context.p_count(context.max_level())};
  const auto limbs = static_cast<size_t>(basis.limbs());
  const double count = static_cast<double>(limbs), each = seconds / static_cast<double>(kWorkKindCount + 1);
  const size_t n = ring.n();
  constexpr size_t kDigits = 4;
  std::vector<ckks::RnsPoly> digits, keys;
  for (size_t d = 0; d < kDigits; ++d) digits.push_back(filled(ring, basis));
  for (size_t d = 0; d < 2 * kDigits; ++d) keys.push_back(filled(ring, basis));
  ckks::RnsPoly a = filled(ring, basis), b = filled(ring, basis);

  Stopwatch stopwatch;
  // Seconds for one of the limbs that a call works on, by the shortest call.
  const auto seconds_for_limb = [&](double budget, double limbs_of_call, const auto& call) {
    return stopwatch.times_of_calls(budget, call).front() / limbs_of_call;
  };
  KernelSeconds result;
  auto set = [&](WorkKind kernel, double value) { result.seconds[static_cast<size_t>(kernel)] = value; };
  set(WorkKind::kNtt, seconds_for_limb(each, 2 * count, [&] {
        ckks::to_coefficients(a);
        ckks::to_ntt(a);
      }));
  set(WorkKind::kAdd, seconds_for_limb(each, count, [&] { ckks::add(a, a, b); }));
  ckks::RnsPoly permuted(ring, basis, ckks::Form::kNtt);
  const auto table = ckks::automorphism_table(ckks::rotation_element(1, context.log_n()), context.log_n());
  set(WorkKind::kPermute, seconds_for_limb(each, count, [&] {
        parallel_for(0, b.limbs(),
                     [&](int j) { ckks::kernels().automorphism(permuted.limb(j), b.limb(j), *table); });
      }));

  // Digits times both halves of a key, as a key switch does it: once with a key that stays in the cache, once
  // with one that comes from memory.
  std::vector<ckks::PackedPoly> packed;
  for (const ckks::RnsPoly& key : keys) packed.emplace_back(key);
  const auto key_product = [&](bool cold) {
    return seconds_for_limb(each, 2 * kDigits * count, [&] {
      parallel_for(0, basis.limbs(), [&](int j) {
        const uint64_t* d[kDigits];
        const uint8_t *k0[kDigits], *k1[kDigits];
        const int limb = cold ? j : a.basis().q - 1;
        for (size_t i = 0; i < kDigits; ++i) {
          d[i] = digits[i].limb(limb);
          k0[i] = packed[cold ? i : 0].limb(limb);
          k1[i] = packed[cold ? kDigits + i : 0].limb(limb);
        }
        ckks::kernels().packed_inner_product_pair(a.limb(j), b.limb(j), d, k0, k1, kDigits, n,
                                                  a.modulus(limb));
      });
    });
  };
  const double hot = key_product(false);
  const double packed_limbs =
      static_cast<double>(packed[0].bytes()) / static_cast<double>(sizeof(uint64_t) * n);
  set(WorkKind::kMultiply, hot);
  set(WorkKind::kKeyRead, std::max(0.0, key_product(true) - hot) * count / packed_limbs);

  // Sums of products of ciphertexts, as many at a time as the engine sums.
  constexpr size_t kProducts = ckks::HostEngine::kTogether;
  set(WorkKind::kTensor, seconds_for_limb(each, kProducts * count, [&] {
        parallel_for(0, b.limbs(), [&](int j) {
          const uint64_t* factors[4][kProducts];
          for (size_t i = 0; i < 4 * kProducts; ++i) {
            const size_t from = i % (3 * kDigits);
            factors[i / kProducts][i % kProducts] =
                (from < kDigits ? digits[from] : keys[from - kDigits]).limb(j);
          }
          ckks::kernels().tensor_product(a.limb(j), b.limb(j), permuted.limb(j), factors[0], factors[1],
                                         factors[2], factors[3], kProducts, n, a.modulus(j));
        });
      }));

  // One digit of alpha limbs to all others.
  const auto sources = static_cast<size_t>(context.chain().bands.back().digits[0].end);
  const size_t targets = limbs - sources;
  std::vector<uint64_t> factors(sources * targets, 12345);
  std::vector<ckks::Modulus> moduli;
  for (size_t j = sources; j < limbs; ++j) moduli.push_back(a.modulus(static_cast<int>(j)));
  constexpr size_t kStretch = 1024;
  set(WorkKind::kConvert, seconds_for_limb(each, static_cast<double>(sources * targets), [&] {
        parallel_for(0, n / std::min(n, kStretch), [&](size_t part) {
          const size_t length = std::min(n, kStretch), at = part * length;
          std::vector<uint64_t*> out(targets);
          std::vector<const uint64_t*> in(sources);
          for (size_t j = 0; j < targets; ++j) out[j] = a.limb(static_cast<int>(sources + j)) + at;
          for (size_t i = 0; i < sources; ++i) in[i] = b.limb(static_cast<int>(i)) + at;
          ckks::kernels().basis_convert(out.data(), targets, in.data(), sources, factors.data(),
                                        moduli.data(), length);
        });
      }));

  // Sums of products with periodic plaintexts as a linear map makes them: tile by tile, sources in the cache.
  constexpr size_t kRows = 16, kColumns = 64, kTile = 256, kRun = 64;
  const size_t tile = std::min(n, kTile);
  const std::vector<uint64_t> constants(kRows * kColumns * (kTile / kRun), 12345);
  set(WorkKind::kRunProduct, seconds_for_limb(each, kRows * kColumns * count, [&] {
        parallel_for(0, basis.limbs(), [&](int j) {
          Buffer sums(kRows * tile);
          uint64_t* out[kRows];
          const uint64_t* in[kColumns];
          for (size_t r = 0; r < kRows; ++r) out[r] = sums.data() + r * tile;
          for (size_t begin = 0; begin < n; begin += tile) {
            for (size_t c = 0; c < kColumns; ++c)
              in[c] = digits[c % kDigits].limb(j) + (begin + c / kDigits * tile) % n;
            ckks::kernels().run_matrix_product(out, kRows, in, kColumns, constants.data(),
                                               std::min(kRun, tile), tile, a.modulus(j), false);
          }
        });
      }));
  double spread = 0;
  const double factor = whole_over_parts(context, result, each, stopwatch, spread);
  for (double& kernel : result.seconds) kernel *= factor;
  return {result, stopwatch.machine_is_busy(), spread};
}

Calibration mean(const Calibration& a, const Calibration& b) {
  Calibration result{{}, a.busy || b.busy, std::max(a.spread, b.spread)};
  for (size_t k = 0; k < kWorkKindCount; ++k) {
    const auto [least, most] = std::minmax(a.kernels.seconds[k], b.kernels.seconds[k]);
    result.kernels.seconds[k] = (least + most) / 2;
    if (k == static_cast<size_t>(WorkKind::kNtt)) result.spread = std::max(result.spread, most / least - 1);
  }
  return result;
}

KernelSeconds at_threads(const KernelSeconds& one, const KernelSeconds& two, int threads) {
  KernelSeconds result;
  for (size_t k = 0; k < kWorkKindCount; ++k) {
    const double fixed = std::clamp(2 * two.seconds[k] - one.seconds[k], 0.0, one.seconds[k]);
    result.seconds[k] = fixed + (one.seconds[k] - fixed) / threads;
  }
  return result;
}

double encode_seconds_per_byte(const ckks::Context& context, double seconds) {
  // As many bytes of weights with a period as of masks for all slots.
  const auto slots = static_cast<size_t>(context.slots()), period = std::max<size_t>(slots / 128, 1);
  const ckks::Plain weight(std::vector<ckks::Complex>(period, {0.5, -0.25})),
      mask(std::vector<ckks::Complex>(slots, {0.5, -0.25}));
  ckks::LinearTransform map{.outputs = 17};
  for (int baby = 0; baby < 128; ++baby) {
    for (int output = 0; output < 16; ++output)
      map.terms.push_back({.output = output, .baby = baby, .weight = weight});
    if (baby < 16) map.terms.push_back({.output = 16, .baby = baby, .weight = mask});
  }
  const ckks::Encoder encoder(context);
  const ckks::Level level = context.compute_level();
  const ckks::Scale scale = context.scale(level);
  const std::vector<double> times = Stopwatch().times_of_calls(seconds, [&] {
    ckks::EncodedTransform(context, encoder, map, level, scale, context.scale(level - 1));
  });
  return times[times.size() / 2] / encoded_bytes(map, context.chain(), level);
}

}  // namespace psm::program
