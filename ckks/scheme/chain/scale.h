// Level and Scale: what every ciphertext and plaintext carries besides its residues.
//
// Level l: residues modulo Q_l = q_0 .. q_l, so l + 1 limbs.
// Scale: the factor between a message and the integer polynomial that encodes it.
//
// Both are read as the number that they are, but no number becomes one by accident: what declares one names
// it, Level::at(limbs - 1), Scale(2.0); only a constant is a level as it stands. So a count of limbs, levels
// to go or a rotation never stands where a level is meant, and a value, an error or a prime never where a
// scale is.
#pragma once

#include <cstdint>

#include "ckks/ring/basis.h"

namespace psm::ckks {

class Level {
 public:
  constexpr Level() = default;  // 0
  consteval Level(int constant) : value_(constant) {}
  static constexpr Level at(int value) {
    Level level;
    level.value_ = value;
    return level;
  }
  constexpr operator int() const { return value_; }

  // Levels further up or down; between two levels it is a plain number of them.
  friend constexpr Level operator+(Level a, int b) { return at(a.value_ + b); }
  friend constexpr Level operator-(Level a, int b) { return at(a.value_ - b); }
  friend constexpr int operator-(Level a, Level b) { return a.value_ - b.value_; }
  constexpr Level& operator+=(int b) { return value_ += b, *this; }
  constexpr Level& operator-=(int b) { return value_ -= b, *this; }
  constexpr Level& operator++() { return *this += 1; }
  constexpr Level& operator--() { return *this -= 1; }

 private:
  int value_ = 0;
};

// Returns the level of residues modulo this many primes of q.
inline Level level_of(Basis basis) { return Level::at(basis.q - 1); }

class Scale {
 public:
  constexpr Scale() = default;  // 0: none
  constexpr explicit Scale(double value) : value_(value) {}
  constexpr operator double() const { return value_; }

 private:
  double value_ = 0;
};

// The scale of the product of two messages.
constexpr Scale operator*(Scale a, Scale b) { return Scale(double{a} * double{b}); }

// After a division by the prime q, and before the one that leaves `scale`.
constexpr Scale after_rescale(Scale scale, uint64_t q) { return Scale(scale / static_cast<double>(q)); }
constexpr Scale before_rescale(Scale scale, uint64_t q) { return Scale(scale * static_cast<double>(q)); }

}  // namespace psm::ckks
