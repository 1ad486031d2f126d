#include "ckks/scheme/chain/context.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/packed_poly.h"
#include "ckks/scheme/chain/security.h"

namespace psm {
namespace {

constexpr int kMaxPrimes = 60;
constexpr int kMaxSpecialPrimes = 15;

void check_shape(const ParameterSpec& s) {
  const auto refuse = [&](const auto&... parts) {
    throw Error(message("parameters '", s.name, "': ", parts...));
  };
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

// The highest level of each band: where a part of the chain ends, and its middle if it is long.
std::vector<int> band_tops(const ParameterSpec& s) {
  constexpr int kLong = 8;
  std::vector<int> tops;
  int top = 0;
  for (int levels : {s.stc_levels, s.compute_levels, s.evalmod_levels, s.cts_levels}) {
    if (levels == 0) continue;
    top += levels;
    if (levels >= kLong) tops.push_back(top - levels / 2);
    tops.push_back(top);
  }
  return tops;
}

// FNV-1a over words: tells parameter sets apart, authenticates nothing.
class Fingerprinter {
 public:
  void add(uint64_t word) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ ((word >> (8 * i)) & 0xff)) * 0x100000001b3;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

std::vector<Gadget> gadgets_of(const ParameterSpec& spec, std::span<const double> log2_q, double log2_p) {
  const int max_level = static_cast<int>(log2_q.size()) - 1;
  double budget = log2_p;
  for (double bits : log2_q) budget += bits;
  std::vector<Gadget> gadgets;
  for (int top : band_tops(spec)) {
    gadgets.push_back(top == max_level
                          ? Gadget{top, spec.p_count, partition_digits(log2_q, top, log2_p)}
                          : best_gadget(log2_q, top, max_level + spec.p_count - top, spec.p_bits, budget));
  }
  return gadgets;
}

Context::Context(const ParameterSpec& spec) : spec_(spec) {
  check_shape(spec);
  max_level_ = spec.stc_levels + spec.compute_levels + spec.evalmod_levels + spec.cts_levels;

  std::vector<uint64_t> used;
  const auto take = [&](double target) {
    used.push_back(prime_near(target, spec.log_n, used));
    return used.back();
  };
  std::vector<uint64_t> p(spec.p_count), q(max_level_ + 1);
  for (uint64_t& prime : p) prime = take(std::ldexp(1.0, spec.p_bits));
  q[0] = take(std::ldexp(1.0, spec.q0_bits));

  // From the top of the chain down: S_l is known, q_l is chosen by it, S_{l-1} = S_l^2 / q_l follows.
  scales_.resize(max_level_ + 1);
  const auto nominal_scale = [&](int level) {
    if (level > evalmod_level()) return nominal(spec.cts_bits);
    if (level > compute_level()) return nominal(spec.evalmod_bits);
    return std::ldexp(1.0, spec.log_scale);
  };
  scales_[max_level_] = nominal_scale(max_level_);
  for (int l = max_level_; l > 0; --l) {
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
  gadgets_ = gadgets_of(spec, log2_q, log2_p);
  for (const Gadget& gadget : gadgets_) {
    if (gadget.digits.empty()) {
      throw Error(message("parameters '", spec.name,
                          "': the special primes are smaller than a prime up to q_", gadget.top));
    }
    // The primes that only a lower band needs come last: the others do not depend on them.
    while (static_cast<int>(p.size()) < gadget.p_count) p.push_back(take(std::ldexp(1.0, spec.p_bits)));
  }
  ring_ = std::make_unique<const Ring>(spec.log_n, q, p);
  check_security(spec, log2_qp(),
                 std::log2(static_cast<double>(q[0])) + std::log2(static_cast<double>(p[0])));

  Fingerprinter f;
  f.add(spec.log_n);
  for (uint64_t prime : q) f.add(prime);
  f.add(0);
  for (uint64_t prime : p) f.add(prime);
  for (int v : {spec.stc_levels, spec.compute_levels, spec.evalmod_levels, spec.cts_levels, spec.log_scale,
                spec.secret_hamming_weight, spec.encapsulation_hamming_weight, spec.insecure ? 1 : 0}) {
    f.add(static_cast<uint64_t>(v));
  }
  for (double scale : scales_) f.add(std::bit_cast<uint64_t>(scale));
  // The special primes of each band: their number at the top does not follow from the list.
  for (const Gadget& gadget : gadgets_) f.add(static_cast<uint64_t>(gadget.p_count));
  fingerprint_ = f.value();
}

Context::~Context() = default;

Scale Context::scale(Level level) const {
  PSM_CHECK(level >= 0 && level <= max_level_, "level ", level);
  return Scale(scales_[level]);
}

Scale Context::rescaled(Scale scale, Level level) const {
  const Scale quotient = after_rescale(scale, q(level)), canonical = this->scale(level - 1);
  return std::abs(quotient / canonical - 1) < 0x1p-46 ? canonical : quotient;
}

uint64_t Context::q(int index) const { return ring_->q(index).value; }
uint64_t Context::p(int index) const { return ring_->p(index).value; }

int Context::band(int level) const {
  PSM_CHECK(level >= 0 && level <= max_level_, "level ", level);
  int band = 0;
  while (gadgets_[band].top < level) ++band;
  return band;
}

int Context::digit_count(int level) const {
  const std::vector<DigitRange>& digits = gadgets_[band(level)].digits;
  int count = 0;
  while (count < static_cast<int>(digits.size()) && digits[count].begin <= level) ++count;
  return count;
}

DigitRange Context::digit(int index, int level) const {
  const DigitRange& digit = gadgets_[band(level)].digits[index];
  return {digit.begin, std::min(digit.end, level + 1)};
}

double Context::log2_q(int level) const {
  double bits = 0;
  for (int i = 0; i <= level; ++i) bits += std::log2(static_cast<double>(q(i)));
  return bits;
}

double Context::log2_qp() const {
  double largest = 0;
  for (const Gadget& gadget : gadgets_) largest = std::max(largest, log2_q(gadget.top) + log2_p(gadget.top));
  return largest;
}

double Context::log2_p(int level) const {
  double bits = 0;
  for (int i = 0; i < p_count(level); ++i) bits += std::log2(static_cast<double>(p(i)));
  return bits;
}

std::string Context::describe() const {
  std::string secret = spec_.secret_hamming_weight == 0
                           ? std::string("dense ternary secret")
                           : message("ternary secret h = ", spec_.secret_hamming_weight);
  return message(spec_.name, ": N = 2^", spec_.log_n, ", log2(QP) = ", std::lround(10 * log2_qp()) / 10.0,
                 " (Q ", std::lround(10 * log2_q(max_level_)) / 10.0, ", P ",
                 std::lround(10 * log2_p(max_level_)) / 10.0, "), ", secret, ", ",
                 spec_.insecure ? "INSECURE (test parameters)" : "128-bit security");
}

size_t Context::ciphertext_bytes(int level) const {
  return size_t{2} * static_cast<size_t>(level + 1) * static_cast<size_t>(n()) * sizeof(uint64_t);
}

size_t Context::key_switch_key_bytes(int level) const {
  return size_t{2} * static_cast<size_t>(digit_count(level)) *
         packed_bytes(ring(), Basis{level + 1, p_count(level)});
}

}  // namespace psm
