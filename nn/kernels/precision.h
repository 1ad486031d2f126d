// What the factors of a matrix product are rounded to.
#pragma once

namespace psm::nn {

// kBf16: 8 bits of significand, the exponents of fp32. Sums, and all that is no product, stay fp32.
enum class Precision { kFp32, kBf16 };

constexpr const char* name_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "fp32"; }

}  // namespace psm::nn
