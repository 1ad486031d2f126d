// SharingDecryptor: decryption whose result may be shown to others, as flooding.h has planned it.
//
//     y = c_0 + c_1 s + g mod Q_level,     then divided by primes of the chain until the decoder can read it
//
// All that happens to y after g was added needs no secret. No branch and no address depends on s, g or the
// error.
#pragma once

#include <complex>
#include <vector>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/sharing/flooding.h"

namespace psm::ckks {

class SharingDecryptor {
 public:
  SharingDecryptor(const SecretKey& secret, const Encoder& encoder);
  // Throws Error unless the ciphertext is of this key pair and of the level and scale that the plan is for.
  // Fresh noise for each call: each is one answer of those that the terms limit.
  std::vector<std::complex<double>> decrypt(const Ciphertext& ciphertext, const Flooding& flooding) const;

 private:
  const SecretKey& secret_;
  const Encoder& encoder_;
};

}  // namespace psm::ckks
