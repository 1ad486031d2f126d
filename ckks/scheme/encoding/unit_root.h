// Complex roots of unity that are the same bits on every machine.
#pragma once

#include <complex>
#include <cstdint>

namespace psm::ckks {

// exp(2 pi i k / n): each part is the double nearest to it. n is a power of two, at most 2^60.
std::complex<double> unit_root(uint64_t k, uint64_t n);

}  // namespace psm::ckks
