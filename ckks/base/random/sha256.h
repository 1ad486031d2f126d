// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace psm {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;
  void update(const void* data, size_t bytes);
  // Returns the digest of everything so far; more may follow.
  Digest digest() const;

 private:
  static constexpr size_t kBlock = 64;
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, kBlock> pending_{};
  uint64_t length_ = 0;
};

Sha256::Digest sha256(const void* data, size_t bytes);

}  // namespace psm
