// Decryptor: m = c_0 + c_1 s, and the slots of it.
//
// What it returns is for the holder of the key alone: a decrypted CKKS result carries the error, and whoever
// sees many of them learns the key (IND-CPA-D; Li and Micciancio, ePrint 2020/1533).
//
// Where the scale would leave values less than kRoomBits of what the decoder reads (Decoder::log2_readable),
// and the modulus holds more, the ciphertext is rescaled first, which needs no secret and adds the error of a
// rescale.
//
// What lies between the ciphertext and the result is wiped (the few numbers that a stack keeps are not), and
// a phase that is returned when it goes; the slots are the caller's.
//
// No branch and no address depends on the secret or on what is decrypted, up to the slots that the decoder
// returns. What a caller then does with the slots is not covered:
// printing a number takes a time that depends on it.
#pragma once

#include <complex>
#include <vector>

#include "ckks/scheme/client/secret_key.h"
#include "ckks/scheme/encoding/decoder.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

// Throws Error if the ciphertext belongs to other parameters or another key pair than the secret.
void require_owner(const Ciphertext& ciphertext, const SecretKey& secret);

class Decryptor {
 public:
  static constexpr double kRoomBits = 24;

  explicit Decryptor(const SecretKey& secret) : secret_(secret), decoder_(secret.context()) {}
  // Both refuse what require_owner() refuses; decrypt() also a scale that leaves no value room below the
  // modulus.
  std::vector<std::complex<double>> decrypt(const Ciphertext& ciphertext) const;
  // c_0 + c_1 s, modulo the primes that the decoder reads, in NTT form.
  struct Phase {
    RnsPoly poly;
    Scale scale;
  };
  Phase phase(const Ciphertext& ciphertext) const;
  const Decoder& decoder() const { return decoder_; }

 private:
  const SecretKey& secret_;
  const Decoder decoder_;
};

}  // namespace psm::ckks
