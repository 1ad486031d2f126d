#include "ckks/scheme/client/decryptor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {

void require_owner(const Ciphertext& ciphertext, const SecretKey& secret) {
  if (ciphertext.fingerprint.parameters != secret.fingerprint().parameters) {
    throw Error("the ciphertext belongs to other parameters than the secret key; use the files of one run");
  }
  if (ciphertext.fingerprint.key != secret.fingerprint().key) {
    throw Error("the ciphertext belongs to another key pair; decrypt it with the key it was encrypted for");
  }
}

Decryptor::Phase Decryptor::phase(const Ciphertext& ciphertext) const {
  require_owner(ciphertext, secret_);
  const Context& context = secret_.context();
  const Level level = ciphertext.level();
  const double readable = decoder_.log2_readable(level);
  if (std::log2(ciphertext.scale()) > readable - kRoomBits && context.log2_q(level) - 1 > readable) {
    return phase({divide_by_last(ciphertext.c), after_rescale(ciphertext.scale(), context.q(level)),
                  ciphertext.fingerprint});
  }
  // The decoder reads no more limbs than it needs for 120 bits of message.
  const Ring& ring = context.ring();
  const int limbs = std::min<int>(level + 1, Decoder::kLimbs);
  RnsPoly out = RnsPoly::secret(ring, {limbs, 0}, Form::kNtt);
  parallel_for(0, limbs, [&](int j) {
    const Modulus& m = ring.q(j);
    std::copy_n(ciphertext.c[0].limb(j), ring.n(), out.limb(j));
    kernels().multiply_add(out.limb(j), ciphertext.c[1].limb(j), secret_.poly().limb(j), ring.n(), m);
  });
  return {std::move(out), ciphertext.scale()};
}

std::vector<std::complex<double>> Decryptor::decrypt(const Ciphertext& ciphertext) const {
  auto [poly, scale] = phase(ciphertext);
  return decoder_.decode(std::move(poly), scale);
}

}  // namespace psm::ckks
