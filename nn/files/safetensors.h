// The safetensors file format: named tensors and a map of strings.
//
//     8 bytes   n, little-endian: length of the header
//     n bytes   JSON: {"__metadata__": {string: string}, NAME: {"dtype": "F32", "shape": [..],
//               "data_offsets": [begin, end]}, ...}
//     the rest  the tensors' data, little-endian; offsets count from here and cover it without gaps
//
// Written as F32. Read from F32, F16, BF16 and F64 into fp32, exactly except for F64, which is rounded.
// Tensors of whole numbers (causal masks and positions in some files) are checked and named, but not read.
//
// Files written here have a checksum of everything (metadata key "checksum", CRC-64). It finds accidents; it
// does not authenticate. Reading checks every length, type and offset before its use and throws psm::Error.
// The header may have 16 MiB and 262144 values. Reading takes no more memory than the values in fp32 and some
// multiple of the header. Files are written whole or not at all.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckks/base/files/byte_source.h"

namespace psm::nn {

// The two 16-bit real types that models are stored in, widened to fp32. Every value is represented exactly.
//
//     half       IEEE 754 binary16: 1 bit s, 5 bits e, 10 bits m: (-1)^s 2^(e-15) (1 + m/1024);
//                e = 0: (-1)^s 2^-14 m/1024; e = 31: infinity or not a number
//     bfloat16   the upper 16 bits of an fp32

inline float float_from_half(uint16_t half) {
  // Exponent and mantissa stand in fp32's fields; the factor corrects the bias (127 - 15) and makes fp32's
  // subnormals, which e = 0 gave, the right normal numbers.
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const auto finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7f800000u;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  return std::bit_cast<float>((magnitude >= 31u << 23 ? special : finite) | sign);
}

inline float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// A tensor whose values were not read.
struct SkippedTensor {
  std::string name, type;
  std::vector<int64_t> shape;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;  // without the checksum
  std::vector<NamedTensor> tensors;
  std::vector<SkippedTensor> skipped = {};
  // Set by open_safetensors: reads the values of tensors[index] again.
  std::function<std::vector<float>(size_t index)> load = {};

  NamedTensor* find(const std::string& name);  // null: there is none
  // Throws psm::Error if there is no such tensor, or if it has another shape.
  std::vector<float>& at(const std::string& name, std::span<const int64_t> shape, const std::string& file);
  // The same, moved out of the list, so that values are never in memory twice; or loaded.
  std::vector<float> take(const std::string& name, std::span<const int64_t> shape, const std::string& file);
};

// Throws psm::Error that names `path` and the first tensor with a value that is not finite (in fp32).
void require_finite(const Safetensors& file, const std::string& path);

void write_safetensors(const std::string& path, const Safetensors& content);

enum class ChecksumRule { kRequired, kIfPresent };
constexpr uint64_t kMaxSafetensors = uint64_t{64} << 30;  // bytes of a file; larger ones are refused
Safetensors read_safetensors(ByteSource source, ChecksumRule rule = ChecksumRule::kRequired);

// Checks the file tensor by tensor, all values finite too, and keeps none: load() reads them when they are asked for.
// It throws psm::Error if the file has changed by then.
Safetensors open_safetensors(ByteSource source, ChecksumRule rule = ChecksumRule::kRequired);

}  // namespace psm::nn
