// A public key: its holder can encrypt, and nothing else.
#pragma once

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/seed_expansion.h"

namespace psm::ckks {

struct PublicKey {
  Seed seed;     // of a
  RnsPoly b, a;  // b = -a s + e mod Q_L, NTT form
  Fingerprint fingerprint;
};

}  // namespace psm::ckks
