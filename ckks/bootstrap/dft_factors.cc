#include "ckks/bootstrap/dft_factors.h"

#include <numeric>

#include "ckks/base/error.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {
namespace {

// tau_p, p < len/2.
std::vector<Complex> twiddles(int len) {
  std::vector<Complex> out(len / 2);
  int64_t power = 1;
  for (int p = 0; p < len / 2; ++p, power = power * 5 % (4 * len)) out[p] = unit_root(power, 4 * len);
  return out;
}

// (x, y) -> (x + tau y, x - tau y), or back: (u, v) -> ((u + v) / 2, conj(tau) (u - v) / 2).
DiagonalMatrix butterfly(int slots, int len, bool inverse) {
  const int half = len / 2;
  const std::vector<Complex> tau = twiddles(len);
  std::vector<Complex> same(len), up(len), down(len);
  for (int p = 0; p < half; ++p) {
    same[p] = inverse ? 0.5 : 1;
    up[p] = inverse ? 0.5 : tau[p];
    down[p + half] = inverse ? 0.5 * std::conj(tau[p]) : 1;
    same[p + half] = inverse ? -0.5 * std::conj(tau[p]) : -tau[p];
  }
  DiagonalMatrix out(slots, len);
  out.add(0, same);
  out.add(half, up);
  out.add(-half, down);
  return out;
}

// One factor before its offsets are made one-sided, and by how much they have to move.
struct Group {
  DiagonalMatrix matrix;
  int step, span, sigma;
};

// The butterflies of `lens`, in the order of application.
Group multiply(int slots, std::span<const int> lens, bool inverse) {
  DiagonalMatrix product = butterfly(slots, lens[0], inverse);
  int smallest = lens[0], largest = lens[0];
  for (size_t i = 1; i < lens.size(); ++i) {
    product = butterfly(slots, lens[i], inverse).times(product);
    smallest = std::min(smallest, lens[i]);
    largest = std::max(largest, lens[i]);
  }
  const int step = smallest / 2, reach = largest / smallest * 2 - 1;  // offsets -reach*step .. reach*step
  if (largest == slots) return {std::move(product), step, reach + 1, 0};
  return {std::move(product), step, 2 * reach + 1, reach * step};
}

std::vector<Group> groups(int log_slots, std::span<const int> butterflies, bool inverse) {
  PSM_CHECK(std::accumulate(butterflies.begin(), butterflies.end(), 0) == log_slots, "butterflies of ",
            log_slots);
  const int slots = 1 << log_slots;
  std::vector<Group> out;
  int done = 0;
  for (const int count : butterflies) {
    PSM_CHECK(count >= 1);
    std::vector<int> lens;
    for (int i = 0; i < count; ++i, ++done) lens.push_back(inverse ? slots >> done : 2 << done);
    out.push_back(multiply(slots, lens, inverse));
  }
  return out;
}

}  // namespace

DftFactors slots_to_coeffs_factors(int log_slots, std::span<const int> butterflies) {
  const std::vector<Group> parts = groups(log_slots, butterflies, false);
  DftFactors out;
  // From the last factor to the first, carrying the rotations to the right.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const int shift = out.shift + part->sigma;
    out.factors.insert(out.factors.begin(),
                       {part->matrix.between_rotations(-out.shift, shift), part->step, part->span});
    out.shift = shift;
  }
  return out;
}

DftFactors coeffs_to_slots_factors(int log_slots, std::span<const int> butterflies) {
  DftFactors out;
  // From the first factor to the last, carrying the rotations to the left.
  for (const Group& part : groups(log_slots, butterflies, true)) {
    const int shift = out.shift + part.sigma;
    out.factors.push_back({part.matrix.between_rotations(shift, -out.shift), part.step, part.span});
    out.shift = shift;
  }
  return out;
}

std::vector<int> split_butterflies(int log_slots, int factors, bool larger_first) {
  PSM_CHECK(factors >= 1 && factors <= log_slots, factors, " factors of ", log_slots, " butterflies");
  std::vector<int> out(factors, log_slots / factors);
  for (int i = 0; i < log_slots % factors; ++i) ++out[larger_first ? i : factors - 1 - i];
  return out;
}

std::vector<int> slots_to_coeffs_butterflies(int log_slots, int factors) {
  const std::vector<int> even = split_butterflies(log_slots, factors, false);
  if (even.back() <= kMostNotRepeating || factors == 1) return even;
  std::vector<int> out = split_butterflies(log_slots - kMostNotRepeating, factors - 1, false);
  out.push_back(kMostNotRepeating);
  return out;
}

}  // namespace psm::ckks
