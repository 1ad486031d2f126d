// Decryptor: m = c_0 + c_1 s, and the slots of it.
//
// What it returns is for the holder of the key alone: a decrypted CKKS result carries the error, and whoever
// sees many of them learns the key (IND-CPA-D; Li and Micciancio, ePrint 2020/1533).
#pragma once

#include <complex>
#include <vector>

#include "ckks/scheme/encoder.h"
#include "ckks/scheme/secret_key.h"

namespace psm {

class Decryptor {
 public:
  Decryptor(const SecretKey& secret, const Encoder& encoder);
  // Throws Error if the ciphertext belongs to other parameters or another key pair.
  std::vector<std::complex<double>> decrypt(const Ciphertext& ciphertext) const;
  Plaintext decrypt_to_plaintext(const Ciphertext& ciphertext) const;

 private:
  const SecretKey& secret_;
  const Encoder& encoder_;
};

}  // namespace psm
