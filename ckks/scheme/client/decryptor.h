// Decryptor: m = c_0 + c_1 s, and the slots of it.
//
// What it returns is for the holder of the key alone: a decrypted CKKS result carries the error, and whoever
// sees many of them learns the key (IND-CPA-D; Li and Micciancio, ePrint 2020/1533).
//
// Where the scale would leave values less than kRoomBits of what the decoder reads (Encoder::log2_readable),
// and the modulus holds more, the ciphertext is rescaled first, which needs no secret and adds the error of a
// rescale.
//
// What lies between the ciphertext and the result is wiped (the few numbers that a stack keeps are not), and
// a plaintext that is returned when it goes; the slots are the caller's.
//
// No branch and no address depends on the secret or on what is decrypted, up to the slots that the decoder
// returns, with the encoder's exceptions (encoder.h). What a caller then does with the slots is not covered:
// printing a number takes a time that depends on it.
#pragma once

#include <complex>
#include <vector>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/encoding/encoder.h"

namespace psm::ckks {

// Throws Error if the ciphertext belongs to other parameters or another key pair than the secret.
void require_owner(const Ciphertext& ciphertext, const SecretKey& secret);

class Decryptor {
 public:
  static constexpr double kRoomBits = 24;

  Decryptor(const SecretKey& secret, const Encoder& encoder);
  // Both refuse what require_owner() refuses; decrypt() also a scale that leaves no value room below the
  // modulus.
  std::vector<std::complex<double>> decrypt(const Ciphertext& ciphertext) const;
  Plaintext decrypt_to_plaintext(const Ciphertext& ciphertext) const;

 private:
  const SecretKey& secret_;
  const Encoder& encoder_;
};

}  // namespace psm::ckks
