#include "ckks/scheme/context.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/ring/primes.h"
#include "ckks/scheme/security.h"

namespace psm {
namespace {

// The key switch's error is sqrt(N / 12) * 3.2 * (the digit's size, times up to its number of primes) / P a
// coefficient; with digits so many bits below P it disappears under the rounding of the division by P.
constexpr double kDigitMarginBits = 8;

constexpr int kMaxPrimes = 60;
constexpr int kMaxDigitPrimes = 16;  // what a BasisConverter takes; many small primes would fit under a large P

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
  if (s.p_count < 1 || s.p_count > 15) refuse("p_count = ", s.p_count, " is outside 1..15");
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
  ring_ = std::make_unique<const Ring>(spec.log_n, q, p);
  check_security(spec, log2_qp(),
                 std::log2(static_cast<double>(q[0])) + std::log2(static_cast<double>(p[0])));

  const double room = log2_p();
  for (int i = 0; i <= max_level_;) {
    DigitRange digit{i, i};
    double bits = 0;
    // A single prime may be as large as P (0.01: primes of nominally equal size).
    while (digit.end <= max_level_ && digit.end - digit.begin < kMaxDigitPrimes &&
           bits + std::log2(static_cast<double>(q[digit.end])) <=
                                          room + (digit.end == digit.begin ? 0.01 : -kDigitMarginBits)) {
      bits += std::log2(static_cast<double>(q[digit.end++]));
    }
    if (digit.end == digit.begin) {
      throw Error(message("parameters '", spec.name, "': the special primes are smaller than q_", i));
    }
    digits_.push_back(digit);
    i = digit.end;
  }

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
  fingerprint_ = f.value();
}

Context::~Context() = default;

double Context::scale(int level) const {
  PSM_CHECK(level >= 0 && level <= max_level_, "level ", level);
  return scales_[level];
}

uint64_t Context::q(int index) const { return ring_->q(index).q; }
uint64_t Context::p(int index) const { return ring_->p(index).q; }

int Context::digit_count(int level) const {
  int count = 0;
  while (count < static_cast<int>(digits_.size()) && digits_[count].begin <= level) ++count;
  return count;
}

DigitRange Context::digit(int index, int level) const {
  return {digits_[index].begin, std::min(digits_[index].end, level + 1)};
}

double Context::log2_q(int level) const {
  double bits = 0;
  for (int i = 0; i <= level; ++i) bits += std::log2(static_cast<double>(q(i)));
  return bits;
}

double Context::log2_p() const {
  double bits = 0;
  for (int i = 0; i < p_count(); ++i) bits += std::log2(static_cast<double>(p(i)));
  return bits;
}

std::string Context::describe() const {
  std::string secret = spec_.secret_hamming_weight == 0
                           ? std::string("dense ternary secret")
                           : message("ternary secret h = ", spec_.secret_hamming_weight);
  return message(spec_.name, ": N = 2^", spec_.log_n, ", log2(QP) = ", std::lround(10 * log2_qp()) / 10.0,
                 " (Q ", std::lround(10 * log2_q(max_level_)) / 10.0, ", P ",
                 std::lround(10 * log2_p()) / 10.0, "), ", secret, ", ",
                 spec_.insecure ? "INSECURE (test parameters)" : "128-bit security");
}

size_t Context::ciphertext_bytes(int level) const {
  return size_t{2} * static_cast<size_t>(level + 1) * static_cast<size_t>(n()) * sizeof(uint64_t);
}

size_t Context::key_switch_key_bytes(int level) const {
  return size_t{2} * static_cast<size_t>(digit_count(level)) * static_cast<size_t>(level + 1 + p_count()) *
         static_cast<size_t>(n()) * sizeof(uint64_t);
}

}  // namespace psm
