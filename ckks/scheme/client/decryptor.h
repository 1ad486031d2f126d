// Decryptor: m = c_0 + c_1 s, and the slots of it.
//
// The result is for the holder of the key alone: it contains the error, and whoever sees many decrypted
// results learns the key (IND-CPA-D; Li and Micciancio, ePrint 2020/1533).
//
// If the scale leaves values less than kRoomBits of the bits that the decoder reads (Decoder::log2_readable), and the
// modulus has more, the ciphertext is rescaled first. That needs no secret and adds the error of a rescale.
//
// Intermediate values are wiped, except for a few numbers on the stack. A returned Phase is wiped when it
// goes; the slots are the caller's.
//
// No branch and no address depends on the secret or on decrypted values, up to the slots that the decoder
// returns. Later use of the slots is not covered: the time of printing a number depends on it.
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
  // Both refuse what require_owner() refuses. decrypt() also refuses a scale that leaves values no room below
  // the modulus.
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
