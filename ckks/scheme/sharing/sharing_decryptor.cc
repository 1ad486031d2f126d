#include "ckks/scheme/sharing/sharing_decryptor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/engine/key_switch.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/wide_gaussian.h"
#include "ckks/scheme/client/decryptor.h"

namespace psm::ckks {

SharingDecryptor::SharingDecryptor(const SecretKey& secret, const Encoder& encoder)
    : secret_(secret), encoder_(encoder) {}

std::vector<std::complex<double>> SharingDecryptor::decrypt(const Ciphertext& ciphertext,
                                                            const Flooding& flooding) const {
  require_owner(ciphertext, secret_);
  if (ciphertext.level() != flooding.level || ciphertext.scale() != flooding.scale) {
    throw Error(message("the ciphertext is at level ", ciphertext.level(), " and scale 2^",
                        std::log2(ciphertext.scale()), ", its flooding was planned for level ",
                        flooding.level, " and scale 2^", std::log2(flooding.scale),
                        "; it is the result of another computation"));
  }
  const Context& context = secret_.context();
  const Ring& ring = context.ring();
  const SecretVector<int128_t> noise = WideGaussian(flooding.deviation).sample(ring.n());
  RnsPoly y = RnsPoly::secret(ring, ciphertext.c[0].basis(), Form::kNtt);
  parallel_for(0, static_cast<size_t>(y.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    uint64_t* limb = y.limb(j);
    signed_to_residues(limb, noise.data(), ring.n(), m);
    kernels().ntt_forward(limb, limb, ring.ntt(j));
    kernels().add(limb, limb, ciphertext.c[0].limb(j), ring.n(), m);
    kernels().multiply_add(limb, ciphertext.c[1].limb(j), secret_.poly().limb(j), ring.n(), m);
  });

  // Public from here on. The decoder reads 128 bits of at most three primes.
  const KeySwitcher switcher(context);
  Scale scale = ciphertext.scale();
  double largest = flooding.largest;
  const double readable = encoder_.log2_readable(context.max_level()) - 1;
  while (y.limbs() > 1 && (std::log2(largest) > readable || y.limbs() > Encoder::kDecodedLimbs)) {
    if (std::log2(largest) <= readable) {
      y = y.clone_prefix({Encoder::kDecodedLimbs, 0});
      break;
    }
    const uint64_t prime = ring.q(y.limbs() - 1).value;
    y = std::move(switcher.rescale(y, y)[0]);
    scale = after_rescale(scale, prime);
    largest = largest / static_cast<double>(prime) + 1;
  }
  Plaintext plaintext(ring, y.basis(), static_cast<int>(ring.n()), scale);
  for (int j = 0; j < y.limbs(); ++j) std::copy_n(y.limb(j), ring.n(), plaintext.limb(j));
  return encoder_.decode(plaintext);
}

}  // namespace psm::ckks
