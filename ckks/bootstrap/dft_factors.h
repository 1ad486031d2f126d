// SlotsToCoeffs and CoeffsToSlots as products of sparse matrices.
//
// With n slots, zeta = exp(i pi / 2n) and w_k = m_k + i m_{k+n} made of the two halves of the coefficients of
// m(X) (of m(Y), Y = X^(N/2n), for fewer slots than N/2), slot j of m is
//
//     z_j = sum_k w_k zeta^(5^j k),       z = U w.
//
// As for any Cooley-Tukey transform, U R = B_n ... B_4 B_2 with R the bit reversal and butterflies
//
//     (B_len x)[p]         = x[p] + tau_p x[p + len/2]       tau_p = exp(2 pi i 5^p / (4 len)), p < len/2,
//     (B_len x)[p + len/2] = x[p] - tau_p x[p + len/2]       in every block of len slots.
//
// R is dropped on both sides: SlotsToCoeffs is U R, CoeffsToSlots is (U R)^{-1}. Their product is the
// identity, and the order of coefficients does not matter to ModRaise between them.
//
// Consecutive butterflies are multiplied into a few factors (Chen, Chillotti, Song, ePrint 2018/1043; Han,
// Hhan, Cheon 2018/1073). A factor of s butterflies has 2^(s+1) - 1 diagonals, or 2^s if it reaches len = n.
// They are at multiples of half the smallest len and have the largest len as period.
//
// One-sided offsets. Baby and giant steps need offsets 0 .. span-1, not -s .. s. So each factor is written as
// F = G rot_{-sigma}, where G has non-negative offsets. These rotations move through the other factors, which
// only rotates their diagonals, to the one place where a rotation is cheap: the slots that enter
// SlotsToCoeffs.
//
//     SlotsToCoeffs = K_m ... K_1 rot_{-sigma_in},      CoeffsToSlots = rot_{-sigma_out} H_m ... H_1.
#pragma once

#include <span>
#include <vector>

#include "ckks/linalg/diagonal_matrix.h"

namespace psm::ckks {

struct DftFactor {
  DiagonalMatrix matrix;  // offsets are step * index, 0 <= index < span
  int step;
  int span;
};

struct DftFactors {
  std::vector<DftFactor> factors;  // in the order of their application
  int shift = 0;                   // sigma_in or sigma_out
};

// `butterflies[i]` = number of butterflies in factor i, in the order of application; they add up to
// log2(slots).
DftFactors slots_to_coeffs_factors(int log_slots, std::span<const int> butterflies);
DftFactors coeffs_to_slots_factors(int log_slots, std::span<const int> butterflies);

// Splits log_slots butterflies into `factors` factors of nearly equal size, the larger ones first or last.
std::vector<int> split_butterflies(int log_slots, int factors, bool larger_first);

// The split for SlotsToCoeffs. Only the diagonals of the last factor do not repeat. It has at most
// kMostNotRepeating butterflies, because more would take too much memory. Each other factor has up to
// kMostRepeating: their rotations have few limbs and are cheap.
constexpr int kMostNotRepeating = 6, kMostRepeating = 10;
std::vector<int> slots_to_coeffs_butterflies(int log_slots, int factors);

}  // namespace psm::ckks
