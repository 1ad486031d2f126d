#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

Ciphertext Ciphertext::clone() const { return {{c[0].clone(), c[1].clone()}, scale(), fingerprint}; }

Ciphertext Ciphertext::in(Memory* memory) const {
  return {{c[0].in(memory), c[1].in(memory)}, scale(), fingerprint};
}

ExtendedCiphertext ExtendedCiphertext::clone() const {
  return {{c[0].clone(), c[1].clone()}, scale(), fingerprint};
}

}  // namespace psm::ckks
