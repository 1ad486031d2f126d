// The kinds of bootstraps, by what is known of the slots.
//
//   all slots   period 0
//   sparse      they repeat with a period: that many complex values
//   of blocks   they are real, and equal in `block` adjacent slots as well: period / block real values, value h
//               in the slots s with floor(s / block) mod (period / block) = h, such as attention's
//               denominators, one for each head.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <string>

namespace psm::ckks {

struct BootstrapKind {
  static constexpr size_t kLeastPeriod = 4;  // of one that is sparse without blocks, N/4 at most
  static constexpr size_t kLeastBlocks = 8, kMostBlocks = 64;  // period / block

  size_t period = 0;  // powers of two
  size_t block = 1;

  bool sparse() const { return period != 0; }
  bool of_blocks() const { return block > 1; }
  size_t blocks() const { return period / block; }

  bool possible(size_t slots) const {
    if (!sparse()) return block == 1;
    if (!std::has_single_bit(period) || !std::has_single_bit(block)) return false;
    if (!of_blocks()) return period >= kLeastPeriod && period <= slots / 2;
    return period <= slots && blocks() >= kLeastBlocks && blocks() <= kMostBlocks;
  }
  // Whether this kind preserves a value that repeats with `of_period`, is equal in `of_block` adjacent slots,
  // and is real or not.
  bool keeps(size_t of_period, size_t of_block, bool real) const {
    return !sparse() || (of_period <= period && (!of_blocks() || (real && of_block >= block)));
  }
  // "all slots", "256 slots", "8 blocks of 32 slots".
  std::string text() const {
    if (!sparse()) return "all slots";
    if (!of_blocks()) return std::to_string(period) + " slots";
    return std::to_string(blocks()) + " blocks of " + std::to_string(block) + " slots";
  }
  friend auto operator<=>(const BootstrapKind&, const BootstrapKind&) = default;
};

}  // namespace psm::ckks
