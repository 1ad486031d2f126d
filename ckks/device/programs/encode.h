// Plaintexts out of their rounded coefficients (CoefficientTile, ckks/scheme/encoding/residue_maker.h): the residue of
// every double, cut towards zero, modulo every prime, and the forward transform of so many values on the roots'
// beginning.
//
//     EncodeBlock          plaintexts of at most 2^12 values: a block makes one limb of one of them, layer by layer
//     ReduceCoefficients   of more: the residues, for NttColumns and NttRows
//     SpreadValues         and values from side by side to `step` apart
//
// Ranges of EncodeBlock: doubles, as in ntt.h; reduced before every fourth layer, the first among them, at most 3.21 q.
#pragma once

#include "ckks/device/programs/block_program.h"
#include "ckks/device/programs/ntt.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

// One limb of one plaintext a block, or a stretch of it.
struct EncodeTile {
  LimbPrimes primes;  // of the results
  int log_values;
  int rows, cols;
  int tile_rows;  // kMatrixRows, or 0 for plaintext after plaintext
  bool is_long;   // coefficients reach 2^62
  const double* coefficients;
  uint64_t* out;  // limb after limb

  constexpr uint32_t plaintexts() const { return static_cast<uint32_t>(rows * cols); }
  constexpr uint64_t values() const { return uint64_t{1} << log_values; }
  constexpr uint64_t limb_words() const { return plaintexts() * values(); }
  constexpr uint64_t step() const { return tile_rows == 0 ? 1 : plaintexts(); }
  // Where value 0 of a plaintext stands in a limb.
  constexpr uint64_t begin(uint32_t plaintext) const {
    if (tile_rows == 0) return plaintext * values();
    const int row = static_cast<int>(plaintext) / cols, col = static_cast<int>(plaintext) % cols;
    const int group = row / tile_rows * tile_rows;
    const int together = rows - group < tile_rows ? rows - group : tile_rows;
    return static_cast<uint64_t>(group * cols + col * together + row - group);
  }
  constexpr uint64_t residue(uint32_t plaintext, uint64_t i, const Modulus& m) const {
    const double c = coefficients[plaintext * values() + i];
    return is_long ? residue_of(c, m) : reduce_signed(static_cast<int64_t>(c), m);
  }
  Work work(uint64_t words_in, uint64_t products) const {
    const uint64_t made = static_cast<uint64_t>(primes.limbs()) * limb_words();
    return {8 * (words_in + made), made * products};
  }
};

struct EncodeBlock : EncodeTile {
  static constexpr const char* kName = "encode";
  static constexpr int kLogMost = 12;
  static constexpr int kPhases = kLogMost + 2;
  static constexpr int kMaxThreads = 256;
  static constexpr size_t kSharedWords = size_t{1} << kLogMost;

  uint32_t blocks() const { return static_cast<uint32_t>(primes.limbs()) * plaintexts(); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const {
    return EncodeTile::work(limb_words() + static_cast<uint64_t>(primes.limbs()) * values(),
                            static_cast<uint64_t>(log_values) / 2 + 1);
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* x) const {
    const uint32_t plaintext = at.block % plaintexts(), half = static_cast<uint32_t>(values() / 2);
    const auto j = static_cast<int>(at.block / plaintexts());
    const PrimeView& view = primes.views[primes.prime(j)];
    const Modulus m = view.modulus;
    if constexpr (kPhase == 0) {
      for (uint32_t i = at.thread; i < 2 * half; i += kMaxThreads)
        put_double(x[i], to_double(residue(plaintext, i, m)));
    } else if constexpr (kPhase <= kLogMost) {
      constexpr int kLayer = kPhase - 1;
      if (kLayer >= log_values) return;
      const int log_apart = log_values - 1 - kLayer;
      const uint32_t apart = uint32_t{1} << log_apart;
      for (uint32_t i = at.thread; i < half; i += kMaxThreads) {
        const uint32_t block = i >> log_apart, low = (block << log_apart) + i;
        const uint32_t t = (uint32_t{1} << kLayer) + block;
        double sum = double_at(x[low]), other = double_at(x[low + apart]);
        if (kLayer % 4 == 0) {
          sum = reduce(sum, view);
          other = reduce(other, view);
        }
        const double product = multiply(other, view.roots[t], view);
        put_double(x[low + apart], sum - product);
        put_double(x[low], sum + product);
      }
    } else {
      uint64_t* const to = out + static_cast<uint64_t>(j) * limb_words() + begin(plaintext);
      for (uint32_t i = at.thread; i < 2 * half; i += kMaxThreads)
        to[i * step()] = to_word(canonical(double_at(x[i]), view));
    }
  }
};

// A thread a value, kElementThreads neighbours a block; plaintext after plaintext, each limb after limb in `out`
// or `in`.
struct EncodeElements : EncodeTile, OfElements {
  uint32_t blocks() const { return static_cast<uint32_t>(primes.limbs()) * plaintexts() << (log_values - 8); }

  // Value i of limb j of a plaintext, which is number `at` of all.
  struct Element {
    uint32_t plaintext, j;
    uint64_t i, at;
  };
  constexpr Element element(Place place) const {
    const uint32_t part = place.block >> (log_values - 8), limbs = static_cast<uint32_t>(primes.limbs());
    const uint64_t i = (place.block - (part << (log_values - 8))) * uint64_t{kElementThreads} + place.thread;
    return {part / limbs, part % limbs, i, part * values() + i};
  }
};

struct ReduceCoefficients : EncodeElements {
  static constexpr const char* kName = "reduce coefficients";

  Work work() const { return EncodeTile::work(limb_words(), 1); }

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const Element e = element(place);
    out[e.at] = residue(e.plaintext, e.i, primes.modulus(static_cast<int>(e.j)));
  }
};

struct SpreadValues : EncodeElements {
  static constexpr const char* kName = "spread values";

  const uint64_t* in;

  Work work() const { return EncodeTile::work(static_cast<uint64_t>(primes.limbs()) * limb_words(), 0); }

  template <int kPhase>
  constexpr void phase(Place place, uint64_t*) const {
    const Element e = element(place);
    out[e.j * limb_words() + begin(e.plaintext) + e.i * step()] = in[e.at];
  }
};

}  // namespace psm::ckks
