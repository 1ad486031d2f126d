// Level and Scale: what every ciphertext and plaintext carries besides its residues.
//
// Level l: residues modulo Q_l = q_0 .. q_l, so l + 1 limbs.
// Scale: the factor between a message and the integer polynomial that encodes it.
//
// Both convert to plain numbers, but no number becomes one by accident. Code must write Level::at(limbs - 1)
// or Scale(2.0); only a constant is a level as it stands. So a count of limbs or a rotation never passes for
// a level, and a value, an error or a prime never for a scale.
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

  // Adding a number to a level gives a level; the difference of two levels is a plain number.
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

// The scale after a division by the prime q, and the one before a division that leaves `scale`.
constexpr Scale after_rescale(Scale scale, uint64_t q) { return Scale(scale / static_cast<double>(q)); }
constexpr Scale before_rescale(Scale scale, uint64_t q) { return Scale(scale * static_cast<double>(q)); }

}  // namespace psm::ckks
