// The negacyclic transform (ckks/ring/arithmetic/ntt.h) in two launches. A limb of N = 2^(c + 8) residues is a
// matrix of 2^c rows of 256; the first c layers pair residues of a column, the last 8 those of a row.
//
//     forward   NttColumns<c, kForward>, then NttRows<kForward>
//     inverse   NttRows<kInverse>, then NttColumns<c, kInverse>, which multiplies by a constant as well
//
// A thread holds 16 residues, at most 4 layers at a time; between them the block's residues pass through shared memory.
// Residues are in [0, q) in and out. In between, in shared memory and in `out`, they are doubles (double_residue.h), in
// multiples of q at most
//
//     forward   1, then 1.63, 2.33, 3.12, 4.01 after up to 4 layers; reduced to 1/2 before the next, which
//               lead to 1.07, 1.70, 2.41, 3.21
//     inverse   1 before and after every group of layers: a layer's sums are at most 2, products 3/4; the next one's
//               4 and 1, and those sums are reduced to 1/2. What is left alone is reduced as well.
//
// A limb may be transformed in place. 10 <= log_n <= 16.
#pragma once

#include <type_traits>

#include "ckks/device/programs/block_program.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

constexpr int kLogRow = 8, kRow = 1 << kLogRow;
constexpr int kMinDeviceLogN = 10, kMaxDeviceLogN = 16;

// One limb. `last`: the two constants that an inverse ends with (last_factors).
struct NttTask {
  const uint64_t* in;
  uint64_t* out;
  const double* last;
  int prime;
};
constexpr int kMaxNttTasks = 96;

// Tasks of one prime stand together, so that they run together and its roots are read once.
struct NttBatch {
  const PrimeView* views;  // by prime
  int log_n;
  int count;
  NttTask tasks[kMaxNttTasks];

  constexpr int primes() const {
    int primes = 0;
    for (int i = 0; i < count; ++i) primes += i == 0 || tasks[i].prime != tasks[i - 1].prime;
    return primes;
  }
};

enum class NttDirection { kForward, kInverse };

// Calls body with a ring's bits of columns as a constant.
template <int kColumnBits = kMinDeviceLogN - kLogRow, class Body>
void with_column_bits(int log_n, const Body& body) {
  if (log_n - kLogRow == kColumnBits) {
    body(std::integral_constant<int, kColumnBits>());
  } else if constexpr (kColumnBits < kMaxDeviceLogN - kLogRow) {
    with_column_bits<kColumnBits + 1>(log_n, body);
  }
}

constexpr int kPoints = 16;  // residues of a thread

struct alignas(16) RootPair {
  double first, second;
};

// Neighbours in a table, two at a time: the first has an even place.
template <int kCount>
constexpr void load_roots(double* to, const double* from) {
  if constexpr (kCount == 1) {
    to[0] = from[0];
  } else {
    PSM_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      const RootPair pair = reinterpret_cast<const RootPair*>(from)[i];
      to[2 * i] = pair.first;
      to[2 * i + 1] = pair.second;
    }
  }
}

// Layers of the forward transform from kLayer to kBits - 1, of the residues below node `node` at layer 0.
template <int kBits, int kLayer = 0>
constexpr void forward_layers(double* x, uint64_t node, const PrimeView& v) {
  constexpr int kHalf = 1 << (kBits - 1 - kLayer);
  double w[1 << kLayer] = {};
  load_roots<1 << kLayer>(w, v.roots + (node << kLayer));
  PSM_UNROLL
  for (int i = 0; i < 1 << (kBits - 1); ++i) {
    const int block = i / kHalf, low = 2 * block * kHalf + i % kHalf;
    const double product = multiply(x[low + kHalf], w[block], v);
    x[low + kHalf] = x[low] - product;
    x[low] += product;
  }
  if constexpr (kLayer + 1 < kBits) forward_layers<kBits, kLayer + 1>(x, node, v);
}

// The same layers back, from kLayer down to kFirst.
template <int kBits, int kFirst, int kLayer = kBits - 1>
constexpr void inverse_layers(double* x, uint64_t node, const PrimeView& v) {
  if constexpr (kLayer >= kFirst) {
    constexpr int kHalf = 1 << (kBits - 1 - kLayer);
    constexpr bool kReduces = (kBits - 1 - kLayer) % 2 == 1 || kLayer == 0;
    double w[1 << kLayer] = {};
    load_roots<1 << kLayer>(w, v.inverse_roots + (node << kLayer));
    PSM_UNROLL
    for (int i = 0; i < 1 << (kBits - 1); ++i) {
      const int block = i / kHalf, low = 2 * block * kHalf + i % kHalf;
      const double sum = x[low] + x[low + kHalf];
      x[low + kHalf] = multiply(x[low] - x[low + kHalf], w[block], v);
      x[low] = kReduces ? reduce(sum, v) : sum;
    }
    inverse_layers<kBits, kFirst, kLayer - 1>(x, node, v);
  }
}

// `layers` layers, whose nodes have so many roots.
constexpr Work work_of(const NttBatch& batch, int layers, uint64_t roots) {
  const uint64_t count = static_cast<uint64_t>(batch.count), n = uint64_t{1} << batch.log_n;
  return {count * 16 * n + static_cast<uint64_t>(batch.primes()) * 8 * roots,
          count * n / 2 * static_cast<uint64_t>(layers)};
}

// Columns, 8 neighbouring ones in a block of 2^c / 2 threads.
template <int kColumnBits, NttDirection kDirection>
struct NttColumns {
  static constexpr bool kIsForward = kDirection == NttDirection::kForward;
  static constexpr const char* kName = kIsForward ? "ntt columns forward" : "ntt columns inverse";
  static constexpr int kUpper = kColumnBits < 4 ? kColumnBits : 4, kLower = kColumnBits - kUpper;
  static constexpr int kPhases = kLower > 0 ? 2 : 1;
  static constexpr int kColumns = 8;
  static constexpr int kMaxThreads = (kColumns << kColumnBits) / kPoints;
  static constexpr size_t kSharedWords = size_t{kColumns} << kColumnBits;

  NttBatch batch;

  uint32_t blocks() const { return static_cast<uint32_t>(batch.count) * (kRow / kColumns); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const { return work_of(batch, kColumnBits, uint64_t{1} << kColumnBits); }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* shared) const {
    const NttTask& task = batch.tasks[at.block / (kRow / kColumns)];
    const uint32_t first = at.block % (kRow / kColumns) * kColumns;
    const PrimeView& view = batch.views[task.prime];
    constexpr bool kOpens = kPhase == 0, kCloses = kPhase == kPhases - 1;
    if constexpr (kIsForward == kOpens || kPhases == 1) {
      upper<kOpens, kCloses>(task, view, first, at.thread, shared);
    } else {
      lower<kOpens>(task, view, first, at.thread, shared);
    }
  }

 private:
  // Layers 0 .. kUpper - 1: rows offset + i 2^kLower.
  template <bool kLoads, bool kStores>
  constexpr void upper(const NttTask& task, const PrimeView& view, uint32_t first, uint32_t thread,
                       uint64_t* shared) const {
    constexpr int kSize = 1 << kUpper;
    const uint64_t* const source = kIsForward ? task.in : task.out;
    PSM_UNROLL
    for (int g = 0; g < kPoints / kSize; ++g) {
      const uint32_t u = static_cast<uint32_t>(g) * kMaxThreads + thread;
      const uint32_t column = u % kColumns, offset = u / kColumns;
      const uint64_t place = uint64_t{offset} * kRow + first + column;
      uint64_t* const room = shared + offset * kColumns + column;
      constexpr int kApart = 1 << kLower;  // rows
      double x[kSize] = {};
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i) {
        const uint64_t word = kLoads ? (source + place)[i * kApart * kRow] : room[i * kApart * kColumns];
        x[i] = kIsForward ? to_double(word) : double_at(word);
      }
      if constexpr (kIsForward) {
        forward_layers<kUpper>(x, 1, view);
      } else {
        inverse_layers<kUpper, 1>(x, 1, view);
        // The top layer divides by N, or multiplies by what `last` has besides, and reduces.
        PSM_UNROLL
        for (int i = 0; i < kSize / 2; ++i) {
          const double sum = x[i] + x[i + kSize / 2], difference = x[i] - x[i + kSize / 2];
          x[i] = canonical(multiply(sum, task.last[0], view), view);
          x[i + kSize / 2] = canonical(multiply(difference, task.last[1], view), view);
        }
      }
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i) {
        uint64_t& word = kStores ? (task.out + place)[i * kApart * kRow] : room[i * kApart * kColumns];
        word = kIsForward ? std::bit_cast<uint64_t>(x[i]) : to_word(x[i]);
      }
    }
  }

  // Layers kUpper .. kColumnBits - 1: rows q 2^kLower + i.
  template <bool kLoads>
  constexpr void lower(const NttTask& task, const PrimeView& view, uint32_t first, uint32_t thread,
                       uint64_t* shared) const {
    constexpr int kSize = 1 << kLower;
    const uint64_t* const source = kIsForward ? task.in : task.out;
    PSM_UNROLL
    for (int g = 0; g < kPoints / kSize; ++g) {
      const uint32_t u = static_cast<uint32_t>(g) * kMaxThreads + thread;
      const uint32_t column = u % kColumns, block = u / kColumns;
      const uint64_t place = uint64_t{block << kLower} * kRow + first + column;
      uint64_t* const room = shared + (block << kLower) * kColumns + column;
      double x[kSize] = {};
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i)
        x[i] = double_at(kLoads ? (source + place)[i * kRow] : room[i * kColumns]);
      const uint64_t node = (uint64_t{1} << kUpper) + block;
      if constexpr (kIsForward) {
        PSM_UNROLL
        for (int i = 0; i < kSize; ++i) x[i] = reduce(x[i], view);
        forward_layers<kLower>(x, node, view);
      } else {
        inverse_layers<kLower, 0>(x, node, view);
      }
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i)
        put_double(kLoads ? room[i * kColumns] : (task.out + place)[i * kRow], x[i]);
    }
  }
};

// A thread's part of a row of 256 residues that 16 threads transform: places lane + 16 i and 16 lane + i of it,
// i < 16, with the row in shared memory (a word more after 16, so that lanes meet no bank twice).
struct RowPart {
  static constexpr uint32_t kLanes = kRow / kPoints;
  static constexpr uint32_t kPaddedLane = kPoints + 1, kPaddedRow = kLanes * kPaddedLane;

  uint64_t* room;  // of the row
  uint32_t lane;
  uint64_t node;  // of the row's first layer
  const PrimeView* view;

  // Where place k of a row stands in its room.
  static constexpr uint32_t padded(uint32_t k) { return k + k / kPoints; }

  // The four upper layers of the forward transform, from doubles at in[16 i].
  constexpr void forward_upper(const uint64_t* in) const {
    double x[kPoints] = {};
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i) x[i] = reduce(double_at(in[i * kLanes]), *view);
    forward_layers<4>(x, node, *view);
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i) put_double(room[lane + i * kPaddedLane], x[i]);
  }
  // The four lower layers: forward to doubles below 3.21 q, inverse of doubles of at most q.
  template <NttDirection kDirection>
  constexpr void lower() const {
    constexpr bool kIsForward = kDirection == NttDirection::kForward;
    uint64_t* const together = room + lane * kPaddedLane;
    double x[kPoints] = {};
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i)
      x[i] = kIsForward ? reduce(double_at(together[i]), *view) : double_at(together[i]);
    if constexpr (kIsForward) {
      forward_layers<4>(x, node * kLanes + lane, *view);
    } else {
      inverse_layers<4, 0>(x, node * kLanes + lane, *view);
    }
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i) put_double(together[i], x[i]);
  }
  // The four upper ones, to doubles at out[16 i].
  constexpr void inverse_upper(uint64_t* out) const {
    double x[kPoints] = {};
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i) x[i] = double_at(room[lane + i * kPaddedLane]);
    inverse_layers<4, 0>(x, node, *view);
    PSM_UNROLL
    for (int i = 0; i < kPoints; ++i) put_double(out[i * kLanes], x[i]);
  }
};

// A block's share of one polynomial or two: 8 rows together, 16 threads each.
struct RowBlock {
  static constexpr uint32_t kLogRowsOfBlock = 3;

  uint32_t log_rows, log_here;  // of a limb; of a polynomial in a block
  uint32_t log_polys;

  constexpr RowBlock(int log_n, int polys)
      : log_rows(static_cast<uint32_t>(log_n - kLogRow)),
        log_here(log_rows < log_most(polys) ? log_rows : log_most(polys)),
        log_polys(polys == 2 ? 1 : 0) {}
  static constexpr uint32_t log_most(int polys) { return polys == 2 ? kLogRowsOfBlock - 1 : kLogRowsOfBlock; }
  constexpr uint32_t threads() const { return RowPart::kLanes << (log_here + log_polys); }
  constexpr uint32_t log_parts() const { return log_rows - log_here; }  // blocks of a limb

  // A block's limb and its first row; a thread's polynomial and its row there.
  constexpr uint32_t limb(Place at) const { return at.block >> log_parts(); }
  constexpr uint32_t first_row(Place at) const {
    return (at.block & ((uint32_t{1} << log_parts()) - 1)) << log_here;
  }
  constexpr uint32_t poly(Place at) const { return at.thread / RowPart::kLanes >> log_here; }
  constexpr uint32_t row(Place at) const {
    return first_row(at) + (at.thread / RowPart::kLanes & ((uint32_t{1} << log_here) - 1));
  }
  // Where the thread's lane of its row begins in a limb.
  constexpr uint32_t begin(Place at) const { return row(at) * kRow + at.thread % RowPart::kLanes; }
  constexpr RowPart part(Place at, const PrimeView* view, uint64_t* shared) const {
    return {shared + at.thread / RowPart::kLanes * RowPart::kPaddedRow, at.thread % RowPart::kLanes,
            (uint64_t{1} << log_rows) + row(at), view};
  }
  // The block's places, shared out among its threads: make(place, room, value) and then put(place, room, value), two
  // places at a time, so that what the second one reads need not wait for what the first one writes. Polynomial i of a
  // place stands at room[i * apart()].
  constexpr uint32_t apart() const { return RowPart::kPaddedRow << log_here; }
  template <class Make, class Put>
  constexpr void for_each_place(Place at, uint64_t* shared, const Make& make, const Put& put) const {
    const uint32_t begin = first_row(at) * kRow;
    for (uint32_t k = at.thread; k < uint32_t{kRow} << log_here; k += 2 * threads()) {
      double value[2][2] = {};
      uint64_t* room[2] = {};
      PSM_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t place = k + i * threads();
        room[i] = shared + place / kRow * RowPart::kPaddedRow + RowPart::padded(place % kRow);
        make(begin + place, room[i], value[i]);
      }
      PSM_UNROLL
      for (uint32_t i = 0; i < 2; ++i) put(begin + k + i * threads(), room[i], value[i]);
    }
  }
};

// Programs on such blocks.
struct OfRows {
  static constexpr int kPhases = 3;
  static constexpr int kMaxThreads = RowPart::kLanes << RowBlock::kLogRowsOfBlock;
  static constexpr size_t kSharedWords = RowPart::kPaddedRow << RowBlock::kLogRowsOfBlock;
};

// Rows of one polynomial a block.
template <NttDirection kDirection>
struct NttRows : OfRows {
  static constexpr bool kIsForward = kDirection == NttDirection::kForward;
  static constexpr const char* kName = kIsForward ? "ntt rows forward" : "ntt rows inverse";

  NttBatch batch;

  constexpr RowBlock block() const { return {batch.log_n, 1}; }
  uint32_t blocks() const { return static_cast<uint32_t>(batch.count) << block().log_parts(); }
  uint32_t threads() const { return block().threads(); }
  Work work() const { return work_of(batch, kLogRow, uint64_t{1} << batch.log_n); }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* shared) const {
    constexpr uint32_t kLanes = RowPart::kLanes;
    const RowBlock rows = block();
    const NttTask& task = batch.tasks[rows.limb(at)];
    const RowPart part = rows.part(at, batch.views + task.prime, shared);
    const uint64_t begin = rows.begin(at);
    if constexpr (kPhase == 0) {
      if constexpr (kIsForward) {
        part.forward_upper(task.out + begin);
      } else {
        PSM_UNROLL
        for (uint32_t i = 0; i < kLanes; ++i)
          put_double(part.room[part.lane + i * RowPart::kPaddedLane],
                     to_double((task.in + begin)[i * kLanes]));
      }
    } else if constexpr (kPhase == 1) {
      part.template lower<kDirection>();
    } else {
      if constexpr (kIsForward) {
        PSM_UNROLL
        for (uint32_t i = 0; i < kLanes; ++i)
          (task.out + begin)[i * kLanes] =
              to_word(canonical(double_at(part.room[part.lane + i * RowPart::kPaddedLane]), *part.view));
      } else {
        part.inverse_upper(task.out + begin);
      }
    }
  }
};

}  // namespace psm::ckks
