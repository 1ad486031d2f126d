// Linear least squares in extended precision: min |A x - b|, A of full column rank, by Householder's QR.
#pragma once

#include <vector>

namespace psm::ckks {

// `a` holds rows of `columns` entries each; as many rows as `b` has entries, at least `columns`.
std::vector<long double> least_squares(std::vector<long double> a, std::vector<long double> b, int columns);

}  // namespace psm::ckks
