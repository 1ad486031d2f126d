// Ciphertext: (c_0, c_1) with c_0 + c_1 s = scale * m + e mod Q_level, both in NTT form.
//
// It carries its level (by its limbs), its scale, and the fingerprints of the parameters and of the key pair
// it belongs to; the evaluator refuses to mix. A fingerprint tells accidents apart; it does not authenticate.
#pragma once

#include <cstdint>

#include "ckks/ring/poly.h"

namespace psm {

struct Fingerprint {
  uint64_t parameters = 0;  // Context::fingerprint()
  uint64_t key = 0;         // drawn at random with the key pair
  bool operator==(const Fingerprint&) const = default;
};

struct Ciphertext {
  RnsPoly c[2];
  double scale = 0;
  Fingerprint fingerprint;

  int level() const { return c[0].basis().q - 1; }
  size_t bytes() const { return c[0].bytes() + c[1].bytes(); }
  Ciphertext clone() const;
};

// A product before relinearisation: c_0 + c_1 s + c_2 s^2. Sums of products share one relinearisation.
struct ProductCiphertext {
  RnsPoly c[3];
  double scale = 0;
  Fingerprint fingerprint;

  int level() const { return c[0].basis().q - 1; }
};

// P times a ciphertext, modulo Q_level P: what a key switch yields before its division by P. Sums of such
// values pay that division once (double hoisting, ePrint 2020/1203). `scale` is the scale of the message
// after the division.
struct ExtendedCiphertext {
  RnsPoly c[2];
  double scale = 0;
  Fingerprint fingerprint;

  int level() const { return c[0].basis().q - 1; }
  ExtendedCiphertext clone() const;
};

}  // namespace psm
