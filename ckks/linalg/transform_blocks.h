// Which weights of a transform are encoded and used together. A block is a set of sources whose rotations
// stay in a cache while all sums read them. A block has one matrix (tile) for each set of sums that use the
// same sources with plaintexts of the same period.
//
// A lone term, an output of one term whose source no other output reads (a mask of a rotation), is in no
// block, unless sources are divided first. Lone terms of one rotation read one key and are made together.
//
// Like the schedule, this follows from offsets and periods alone. The meter uses it to count memory.
#pragma once

#include <vector>

#include "ckks/engine/operands.h"
#include "ckks/linalg/linear_transform.h"

namespace psm::ckks {

// Divided sources are in memory whole, so many at a time.
constexpr int kDividedTogether = 64;

struct TransformBlocks {
  std::vector<char> is_lone;                 // of each accumulator
  std::vector<std::vector<int>> lone_terms;  // together, four at most
  std::vector<int> summed_sources;           // of the schedule: those of all other terms
  // Without weights and their basis. Their sources are places in summed_sources, their sums accumulators of the schedule.
  std::vector<WeightBlock> blocks;
};

TransformBlocks transform_blocks(const LinearTransform& transform, const TransformSchedule& schedule);

// The number of slot values encoded at a time if plaintexts are not kept: those of the largest block, or of
// the lone terms of one rotation.
size_t largest_block_values(const LinearTransform& transform, const TransformSchedule& schedule);

}  // namespace psm::ckks
