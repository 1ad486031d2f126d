#include "ckks/program/planner/parameter_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/bootstrap/dft_factors.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/chain/security.h"

namespace psm::program {
namespace {

constexpr int kMaxBits = 50;
constexpr int kEvalModBits[] = {50, 49, 48, 47, 46, 45}, kCtsBits[] = {50, 48, 46, 44},
              kSpecialBits[] = {50, 49, 48, 47};
constexpr int kMinStc = 2, kMaxStc = 4, kMinCts = 3, kMaxCts = 5;
constexpr int kMaxSpecial = 15;
constexpr int kMoreLevels = 6;
constexpr int kMinRatioBits = 4;          // EvalMod wants q_0 above eight times the scale
constexpr double kExpectedWithin = 0.15;  // factors and special primes change a bootstrap's error little
constexpr double kBoundSlack = 0.01;      // primes are not exactly powers of two

std::string decimal(double value) { return message(static_cast<double>(std::lround(10 * value)) / 10); }

// -log2 of the mean error that the polynomial of EvalMod leaves by itself at |I| = 0.
double sine_bits(int ratio_bits) {
  const ckks::EvalMod eval_mod({.message_ratio = std::exp2(ratio_bits)});
  constexpr int kSamples = 64;
  double sum = 0;
  for (int s = 0; s < kSamples; ++s) {
    const double z = (s + 0.5) / kSamples;
    sum += std::abs(
        static_cast<double>(eval_mod.output_gain() * eval_mod.evaluate(z / eval_mod.spec().message_ratio)) -
        z);
  }
  return -std::log2(sum / kSamples);
}

// What a bootstrap's time depends on.
struct Structure {
  int compute_levels, stc_levels, cts_levels, p_count;
  std::vector<std::vector<int>> bands;  // each its top, its special primes, and where its digits end
  auto operator<=>(const Structure&) const = default;
};

// What its precision depends on besides; EvalMod's primes more than those of CoeffsToSlots.
struct Sizes {
  int q0_bits, evalmod_bits, cts_bits, p_bits;
};

class Search {
 public:
  Search(const ParameterWish& wish, int weight, const KernelSeconds& kernels)
      : wish_(wish), kernels_(kernels), kind_(ckks::secret_kind(weight)) {
    if (wish.security_bits != 128)
      throw Error(
          message("no source in the security table is for ", wish.security_bits, " bits; there is 128"));
    if (wish.levels < 1) throw Error(message("at least one level is needed, not ", wish.levels));
    result_.secret_hamming_weight = weight;
    result_.bound = ckks::max_log2_modulus(ckks::ParameterSpec{}.log_n, kind_);
    result_.source = ckks::security_source(kind_);
  }

  ParameterSearch run() {
    enumerate();
    struct Ranked {
      double seconds_a_level, bytes;
      const Structure* structure;
    };
    std::vector<Ranked> ranked;
    for (const auto& [structure, sizes] : structures_) {
      const BootstrapFigures figures = figures_for(structure);
      ranked.push_back({figures.seconds / structure.compute_levels,
                        static_cast<double>(figures.keys.bytes(chain_for(structure))) + figures.memory_bytes,
                        &structure});
    }
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
      return std::tie(a.seconds_a_level, a.bytes) < std::tie(b.seconds_a_level, b.bytes);
    });
    double best_mean = 0, best_worst = 0;
    std::set<std::array<int, 4>> proposed;  // of sets that differ in sizes alone, the first stands for all
    for (const Ranked& next : ranked) {
      if (result_.proposals.size() == wish_.proposals) break;
      const Structure& s = *next.structure;
      const std::array<int, 4> kind{s.compute_levels, s.stc_levels, s.cts_levels, s.p_count};
      if (proposed.contains(kind)) continue;
      const std::vector<Sizes>& sizes = structures_.at(s);
      const Sizes& best = *std::max_element(sizes.begin(), sizes.end(), [&](const Sizes& a, const Sizes& b) {
        return expected_bits(s, a) < expected_bits(s, b);
      });
      if (expected_bits(s, best) < wish_.precision_bits) {
        best_mean = std::max(best_mean, expected_bits(s, best));
        ++result_.too_noisy;
        continue;
      }
      ParameterProposal proposal = make(s, best);
      exact_[{s.stc_levels, s.cts_levels, best.q0_bits, best.evalmod_bits, best.cts_bits}] =
          proposal.error.mean_bits;
      best_mean = std::max(best_mean, proposal.error.mean_bits);
      best_worst = std::max(best_worst, proposal.error.worst_bits);
      if (proposal.error.mean_bits < wish_.precision_bits || proposal.error.worst_bits < wish_.worst_bits) {
        ++result_.too_noisy;
        continue;
      }
      proposed.insert(kind);
      result_.proposals.push_back(std::move(proposal));
    }
    if (result_.proposals.empty()) {
      throw Error(message("no parameters give ", decimal(wish_.precision_bits), " bits after a bootstrap, ",
                          decimal(wish_.worst_bits), " in the worst slot: rounding at scale 2^",
                          wish_.log_scale, " leaves ", decimal(best_mean), " and ", decimal(best_worst),
                          "; ask for less precision or fewer levels, or take another scale"));
    }
    explain();
    return std::move(result_);
  }

 private:
  ckks::ParameterSpec spec_of(const Structure& s, const Sizes& z) const {
    ckks::ParameterSpec spec;
    spec.q0_bits = z.q0_bits;
    spec.stc_levels = s.stc_levels, spec.stc_bits = wish_.log_scale;
    spec.compute_levels = s.compute_levels, spec.compute_bits = wish_.log_scale;
    spec.evalmod_bits = z.evalmod_bits;
    spec.cts_levels = s.cts_levels, spec.cts_bits = z.cts_bits;
    spec.p_count = s.p_count, spec.p_bits = z.p_bits;
    spec.log_scale = wish_.log_scale;
    spec.secret_hamming_weight = result_.secret_hamming_weight;
    return spec;
  }

  // All that keep within the bounds, grouped by structure.
  void enumerate() {
    std::vector<int> q0_bits;
    double most_sine_bits = 0;
    for (int bits = kMaxBits; bits >= wish_.log_scale + kMinRatioBits; --bits) {
      const double sine = sine_bits(bits - wish_.log_scale);
      most_sine_bits = std::max(most_sine_bits, sine);
      if (sine >= wish_.precision_bits)
        q0_bits.push_back(bits);
      else
        ++result_.beyond_sine;
    }
    if (q0_bits.empty()) {
      throw Error(message("no parameters give ", decimal(wish_.precision_bits),
                          " bits after a bootstrap: with q_0 of at most ", kMaxBits, " bits at scale 2^",
                          wish_.log_scale, " the sine of EvalMod leaves ",
                          decimal(std::max(0.0, most_sine_bits)),
                          "; ask for less precision or a smaller scale"));
    }
    double least = 0;  // of log2(QP), of what is refused
    for (int compute = wish_.levels; compute <= wish_.levels + kMoreLevels; ++compute)
      for (int stc = kMinStc; stc <= kMaxStc; ++stc)
        for (int cts = kMinCts; cts <= kMaxCts; ++cts)
          for (const int q0 : q0_bits)
            for (const int evalmod : kEvalModBits)
              for (const int cts_bits : kCtsBits)
                for (int p_count = 1; p_count <= kMaxSpecial; ++p_count)
                  for (const int p_bits : kSpecialBits) {
                    const double total =
                        consider({compute, stc, cts, p_count, {}}, {q0, evalmod, cts_bits, p_bits});
                    if (total > 0 && (least == 0 || total < least)) least = total;
                  }
    if (structures_.empty()) {
      throw Error(message("no parameters give ", wish_.levels, " levels at scale 2^", wish_.log_scale,
                          ": the smallest chain that bootstraps has log2(QP) = ", decimal(least),
                          ", beyond the ", result_.bound, " bits that give 128-bit security (",
                          result_.source, "); ask for fewer levels or a smaller scale"));
    }
  }

  // log2(QP) of what is refused for it, 0 otherwise.
  double consider(Structure structure, const Sizes& z) {
    ++result_.considered;
    const ckks::ParameterSpec spec = spec_of(structure, z);
    std::vector<double> bits{static_cast<double>(z.q0_bits)};
    bits.insert(bits.end(), static_cast<size_t>(spec.stc_levels + spec.compute_levels), wish_.log_scale);
    bits.insert(bits.end(), static_cast<size_t>(spec.evalmod_levels), z.evalmod_bits);
    bits.insert(bits.end(), static_cast<size_t>(spec.cts_levels), z.cts_bits);
    double total = spec.p_count * spec.p_bits;
    for (const double size : bits) total += size;
    if (total > result_.bound - kBoundSlack) {
      ++result_.beyond_bound;
      return total;
    }
    for (const ckks::Gadget& gadget : ckks::gadgets_of(spec, bits, spec.p_count * spec.p_bits)) {
      if (gadget.digits.empty()) return 0;  // P is below a prime
      std::vector<int>& band = structure.bands.emplace_back(std::vector<int>{gadget.top, gadget.p_count});
      for (const ckks::DigitRange& digit : gadget.digits) band.push_back(digit.end);
    }
    std::vector<Sizes>& sizes = structures_[std::move(structure)];
    // Sizes come from the most precise to the least: for each q_0 the first stands for all.
    if (std::none_of(sizes.begin(), sizes.end(),
                     [&](const Sizes& other) { return other.q0_bits == z.q0_bits; }))
      sizes.push_back(z);
    return 0;
  }

  // Of structures, the sizes of the first: keys differ little.
  ckks::Chain chain_for(const Structure& s) const {
    return ckks::nominal_chain(spec_of(s, structures_.at(s).front()));
  }

  // The transforms depend on the numbers of factors alone: one plan for each pair of them.
  BootstrapFigures figures_for(const Structure& s) {
    auto& reference = references_[{s.stc_levels, s.cts_levels}];
    if (!reference) {
      Structure small = s;
      small.compute_levels = small.p_count = 1, small.bands.clear();
      ckks::ParameterSpec spec = spec_of(small, {kMaxBits, kMaxBits, kMaxBits, kMaxBits});
      spec.insecure = true;
      reference = std::make_unique<Reference>(spec);
    }
    return figures_of(reference->plan, chain_for(s), kernels_);
  }

  // Mean bits predicted with primes of these sizes: for the set whose plan is made fastest, within
  // kExpectedWithin of the others; for these factors, once a set with them was made.
  double expected_bits(const Structure& s, const Sizes& z) {
    const auto known = exact_.find({s.stc_levels, s.cts_levels, z.q0_bits, z.evalmod_bits, z.cts_bits});
    if (known != exact_.end()) return known->second;
    const auto [entry, inserted] = expected_.try_emplace({z.q0_bits, z.evalmod_bits, z.cts_bits}, 0.0);
    if (inserted) {
      Structure small = s;
      small.compute_levels = 1, small.stc_levels = kMaxStc, small.cts_levels = kMaxCts;
      entry->second = ckks::predict_error(Reference(spec_of(small, z)).plan).mean_bits + kExpectedWithin;
    }
    return entry->second;
  }

  ParameterProposal make(const Structure& s, const Sizes& z) {
    ParameterProposal proposal;
    proposal.spec = spec_of(s, z);
    proposal.spec.name =
        message("n16_", result_.secret_hamming_weight == 0 ? "dense" : "sparse", "_l", s.compute_levels, "_s",
                wish_.log_scale, "_stc", s.stc_levels, "_cts", s.cts_levels, "_p", s.p_count, "x", z.p_bits,
                "_q", z.q0_bits, "_e", z.evalmod_bits, "_c", z.cts_bits);
    const Reference exact(proposal.spec);  // checks the bounds of both secrets
    proposal.error = ckks::predict_error(exact.plan);
    proposal.log2_qp = exact.context.log2_qp();
    proposal.rare = exact.plan.rare_multiple();
    proposal.digits = exact.context.digit_count(exact.context.max_level());
    const BootstrapFigures figures = figures_of(exact.plan, kernels_);
    proposal.seconds = figures.seconds;
    proposal.diagonal_bytes = figures.memory_bytes;
    proposal.key_bytes = static_cast<double>(exact.plan.key_bytes());
    return proposal;
  }

  void explain() {
    const ParameterProposal& best = result_.proposals.front();
    for (ParameterProposal& p : result_.proposals) {
      const double left = result_.bound - p.log2_qp;
      const int smallest = std::min(p.spec.p_bits, wish_.log_scale);
      p.why.push_back(message(
          "security: log2(QP) = ", decimal(p.log2_qp), " of ", result_.bound, "; ",
          left < smallest ? "the bound binds: what is left holds neither a level nor a special prime"
                          : message(decimal(left), " bits are left, and more primes would only cost time")));
      p.why.push_back(
          message("precision: polynomial 2^", decimal(std::log2(p.error.polynomial)), ", rounding 2^",
                  decimal(std::log2(p.error.rounding)), "; ",
                  p.error.polynomial > p.error.rounding
                      ? message("q_0 / scale = 2^", p.spec.q0_bits - wish_.log_scale, " decides, by the sine")
                      : message("EvalMod's primes of ", p.spec.evalmod_bits,
                                " bits decide, by what divisions under this secret round")));
      p.why.push_back(message("speed: ", p.digits, " digits at the top, of up to ",
                              p.spec.p_count * p.spec.p_bits - 8, " bits; transforms in ", p.spec.stc_levels,
                              " + ", p.spec.cts_levels, " factors"));
      if (&p == &best) {
        p.why.push_back("the fewest predicted seconds a usable level of all that keep the bounds");
      } else {
        p.why.push_back(message("takes ", decimal(100 * (p.seconds_a_level() / best.seconds_a_level() - 1)),
                                "% more a level than the first, keys of ",
                                decimal(100 * p.key_bytes / best.key_bytes), "% of its size"));
      }
    }
  }

  struct Reference {
    explicit Reference(const ckks::ParameterSpec& spec) : context(spec), plan(context) {}
    ckks::Context context;
    ckks::BootstrapPlan plan;
  };

  const ParameterWish& wish_;
  const KernelSeconds& kernels_;
  ckks::SecretKind kind_;
  ParameterSearch result_;
  std::map<Structure, std::vector<Sizes>> structures_;
  std::map<std::pair<int, int>, std::unique_ptr<const Reference>> references_;
  std::map<std::array<int, 3>, double> expected_;
  std::map<std::array<int, 5>, double> exact_;
};

}  // namespace

ParameterSearch search_parameters(const ParameterWish& wish, int secret_hamming_weight,
                                  const KernelSeconds& kernels) {
  return Search(wish, secret_hamming_weight, kernels).run();
}

}  // namespace psm::program
