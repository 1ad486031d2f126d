// The precision to which a matrix product rounds its factors.
#pragma once

namespace psm::nn {

// kBf16: 8 bits of significand, the exponents of fp32. Everything but the factors of products stays fp32,
// sums included.
enum class Precision { kFp32, kBf16 };

constexpr const char* name_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "fp32"; }

}  // namespace psm::nn
