#include "ckks/scheme/chain/context.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/scheme/chain/security.h"

namespace psm::ckks {
namespace {

constexpr int kMaxPrimes = 60;

void check_shape(const ParameterSpec& s) {
  const auto refuse = [&](const auto&... parts) {
    throw Error(message("parameters '", s.name, "': ", parts...));
  };
  if (s.name.size() > kMostSpecName)
    refuse("a name of ", s.name.size(), " bytes; at most ", kMostSpecName, " are possible");
  if (s.log_n < 4 || s.log_n > 17) refuse("log_n = ", s.log_n, " is outside 4..17");
  if (s.compute_levels < 1) refuse("compute_levels = ", s.compute_levels, "; at least one level is needed");
  if (s.stc_levels < 0 || s.evalmod_levels < 0 || s.cts_levels < 0) refuse("a number of levels is negative");
  // One by one before their sum: numbers from a file may be so large that it would overflow.
  for (int levels : {s.stc_levels, s.compute_levels, s.evalmod_levels, s.cts_levels}) {
    if (levels >= kMaxPrimes) refuse("more than ", kMaxPrimes, " primes");
  }
  if ((s.evalmod_levels > 0) != (s.cts_levels > 0))
    refuse("EvalMod and CoeffsToSlots need levels both or neither");
  if (s.stc_levels > 0 && s.stc_bits != s.log_scale) refuse("stc_bits must equal log_scale");
  if (s.compute_bits != s.log_scale) refuse("compute_bits must equal log_scale");
  if (s.p_count < 1 || s.p_count > kMaxSpecialPrimes) {
    refuse("p_count = ", s.p_count, " is outside 1..", kMaxSpecialPrimes);
  }
  const int levels = s.stc_levels + s.compute_levels + s.evalmod_levels + s.cts_levels;
  if (levels + 1 + s.p_count > kMaxPrimes) refuse("more than ", kMaxPrimes, " primes");
  for (int bits : {s.q0_bits, s.stc_bits, s.compute_bits, s.evalmod_bits, s.cts_bits, s.p_bits}) {
    if (bits < 20 || bits > kMaxModulusBits)
      refuse("primes of ", bits, " bits; 20..", kMaxModulusBits, " are possible");
  }
  const int n = 1 << s.log_n;
  if (s.secret_hamming_weight < 0 || s.secret_hamming_weight > n || s.encapsulation_hamming_weight < 1 ||
      s.encapsulation_hamming_weight > n) {
    refuse("a Hamming weight is outside the ring's degree");
  }
}

// What primes of a size are near to. The largest allowed size lies below 2^50: leave room on both sides.
double nominal(int bits) { return bits == kMaxModulusBits ? 0x1p50 - 0x1p26 : std::ldexp(1.0, bits); }

}  // namespace

Context::Context(const ParameterSpec& spec) : spec_(spec) {
  check_shape(spec);
  chain_.log_n = spec.log_n;
  chain_.entry_level = Level::at(spec.stc_levels);
  chain_.compute_level = chain_.entry_level + spec.compute_levels;
  chain_.evalmod_level = chain_.compute_level + spec.evalmod_levels;
  const Level max_level = chain_.evalmod_level + spec.cts_levels;
  chain_.max_level = max_level;

  std::vector<uint64_t> used;
  const auto take = [&](double target) {
    used.push_back(prime_near(target, spec.log_n, used));
    return used.back();
  };
  std::vector<uint64_t> p(spec.p_count), q(max_level + 1);
  for (uint64_t& prime : p) prime = take(std::ldexp(1.0, spec.p_bits));
  q[0] = take(std::ldexp(1.0, spec.q0_bits));

  // From the top of the chain down: S_l is known, q_l is chosen by it, S_{l-1} = S_l^2 / q_l follows.
  scales_.resize(max_level + 1);
  const auto nominal_scale = [&](Level level) {
    if (level > evalmod_level()) return nominal(spec.cts_bits);
    if (level > compute_level()) return nominal(spec.evalmod_bits);
    return std::ldexp(1.0, spec.log_scale);
  };
  scales_[max_level] = nominal_scale(max_level);
  for (Level l = max_level; l > 0; --l) {
    const double target = scales_[l] * scales_[l] / nominal_scale(l);
    // Where primes lie far apart, each level doubles the distance from the nominal scale.
    if (!(target > nominal_scale(l) / 2 && target < nominal_scale(l) * 2)) {
      throw Error(message("parameters '", spec.name, "': no primes hold the scale at level ", l,
                          "; use larger primes or fewer levels"));
    }
    q[l] = take(target);
    scales_[l - 1] = nominal_scale(l - 1) == nominal_scale(l)
                         ? scales_[l] * scales_[l] / static_cast<double>(q[l])
                         : nominal_scale(l - 1);
  }
  std::vector<double> log2_q;
  for (uint64_t prime : q) log2_q.push_back(std::log2(static_cast<double>(prime)));
  double log2_p = 0;
  for (uint64_t prime : p) log2_p += std::log2(static_cast<double>(prime));
  chain_.bands = gadgets_of(spec, log2_q, log2_p);
  for (const Gadget& gadget : chain_.bands) {
    if (gadget.digits.empty()) {
      throw Error(message("parameters '", spec.name,
                          "': the special primes are smaller than a prime up to q_", gadget.top));
    }
    // The primes that only a lower band needs come last: the others do not depend on them.
    while (static_cast<int>(p.size()) < gadget.p_count) p.push_back(take(std::ldexp(1.0, spec.p_bits)));
  }
  for (uint64_t prime : q) chain_.q_bits.push_back(static_cast<int>(std::bit_width(prime)));
  for (uint64_t prime : p) chain_.p_bits.push_back(static_cast<int>(std::bit_width(prime)));
  ring_ = std::make_unique<const Ring>(spec.log_n, q, p);
  check_security(spec, log2_qp(),
                 std::log2(static_cast<double>(q[0])) + std::log2(static_cast<double>(p[0])));

  // FNV-1a over words: tells parameter sets apart, authenticates nothing.
  fingerprint_ = 0xcbf29ce484222325;
  const auto add = [&](uint64_t word) {
    for (int i = 0; i < 8; ++i) fingerprint_ = (fingerprint_ ^ ((word >> (8 * i)) & 0xff)) * 0x100000001b3;
  };
  add(spec.log_n);
  for (uint64_t prime : q) add(prime);
  add(0);
  for (uint64_t prime : p) add(prime);
  for (int v : {spec.stc_levels, spec.compute_levels, spec.evalmod_levels, spec.cts_levels, spec.log_scale,
                spec.secret_hamming_weight, spec.encapsulation_hamming_weight, spec.insecure ? 1 : 0}) {
    add(static_cast<uint64_t>(v));
  }
  for (double scale : scales_) add(std::bit_cast<uint64_t>(scale));
  // The special primes of each band: their number at the top does not follow from the list.
  for (const Gadget& gadget : chain_.bands) add(static_cast<uint64_t>(gadget.p_count));
}

Scale Context::scale(Level level) const {
  PSM_CHECK(level >= 0 && level <= max_level(), "level ", level);
  return Scale(scales_[level]);
}

Scale Context::rescaled(Scale scale, Level level) const {
  const Scale quotient = after_rescale(scale, q(level)), canonical = this->scale(level - 1);
  return std::abs(quotient / canonical - 1) < 0x1p-46 ? canonical : quotient;
}

double Context::log2_q(Level level) const {
  double bits = 0;
  for (int i = 0; i <= level; ++i) bits += std::log2(static_cast<double>(q(i)));
  return bits;
}

double Context::log2_qp() const {
  double largest = 0;
  for (const Gadget& gadget : chain_.bands)
    largest = std::max(largest, log2_q(gadget.top) + log2_p(gadget.top));
  return largest;
}

double Context::log2_p(Level level) const {
  double bits = 0;
  for (int i = 0; i < p_count(level); ++i) bits += std::log2(static_cast<double>(p(i)));
  return bits;
}

std::string Context::describe() const {
  std::string secret = spec_.secret_hamming_weight == 0
                           ? std::string("dense ternary secret")
                           : message("ternary secret h = ", spec_.secret_hamming_weight);
  return message(
      spec_.name, ": N = 2^", spec_.log_n, ", log2(QP) = ", std::lround(10 * log2_qp()) / 10.0, " (Q ",
      std::lround(10 * log2_q(max_level())) / 10.0, ", P ", std::lround(10 * log2_p(max_level())) / 10.0,
      "), ", secret, ", ",
      spec_.insecure ? std::string("INSECURE (test parameters)") : message(kSecurityBits, "-bit security"));
}

}  // namespace psm::ckks
