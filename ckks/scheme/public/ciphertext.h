// Ciphertext: (c_0, c_1) with c_0 + c_1 s = scale * m + e mod Q_level, both in NTT form.
//
// It carries its level (by its limbs), its scale, and the fingerprints of its parameters and its key pair.
// The evaluator refuses to mix them. Fingerprints find accidents; they do not authenticate.
//
// The scale is fixed at construction. Only settle_scale() and declare_scale() change it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/random/chacha.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

struct Fingerprint {
  uint64_t parameters = 0;  // Context::fingerprint()
  uint64_t key = 0;         // drawn at random with the key pair
  bool operator==(const Fingerprint&) const = default;
};

// The base of every kind of ciphertext: polynomials of one basis, in NTT form.
template <size_t kPolys>
class ScaledPolys {
 public:
  ScaledPolys() = default;
  ScaledPolys(std::array<RnsPoly, kPolys> polys, Scale scale, Fingerprint owner)
      : c(std::move(polys)), fingerprint(owner), scale_(scale) {}
  // Residues undefined.
  ScaledPolys(const Ring& ring, Basis basis, Scale scale, Fingerprint owner, Memory* memory = nullptr)
      : fingerprint(owner), scale_(scale) {
    for (RnsPoly& poly : c) poly = RnsPoly(ring, basis, Form::kNtt, memory);
  }

  std::array<RnsPoly, kPolys> c;
  Fingerprint fingerprint;

  Level level() const { return level_of(c[0].basis()); }
  Memory* memory() const { return c[0].memory(); }
  Scale scale() const { return scale_; }

  // Replaces the scale that was computed in doubles by the intended one. They differ by a factor of 1 + 2^-40
  // at most, and so does the message.
  void settle_scale(Scale scale) {
    PSM_CHECK(std::abs(scale / scale_ - 1) <= 0x1p-40, "scale ", scale_, " is not ", scale);
    scale_ = scale;
  }
  // Reads the same residues at another scale: the message becomes scale() / scale times what it was.
  void declare_scale(Scale scale) { scale_ = scale; }

 private:
  Scale scale_;
};

class Ciphertext : public ScaledPolys<2> {
 public:
  using ScaledPolys::ScaledPolys;
  size_t bytes() const { return c[0].bytes() + c[1].bytes(); }
  Ciphertext clone() const { return {{c[0].clone(), c[1].clone()}, scale(), fingerprint}; }
  // A copy there.
  Ciphertext in(Memory* memory) const { return {{c[0].in(memory), c[1].in(memory)}, scale(), fingerprint}; }
};

// The public half of a key or a ciphertext (digit 0): limb by limb the uniform residues of the ChaCha20 stream with the
// seed as key and digit 2^32 + prime as nonce, `prime` the index of the limb's prime in the ring. So the seed separates
// keys and ciphertexts, the nonce digits and limbs. The data are public, so the time may depend on them.
RnsPoly expand_seed(const Seed& seed, int digit, const Ring& ring, Basis basis);
// The limb of one prime.
void expand_limb(const Seed& seed, int digit, const Ring& ring, int prime, uint64_t* residues);

// SeededCiphertext: a fresh encryption under the secret key whose c_1 is expanded from a public seed; half
// the bytes of a ciphertext. Made by SeededEncryptor; expanding it needs no secret.
struct SeededCiphertext {
  Seed seed;
  RnsPoly c0;
  Scale scale;
  Fingerprint fingerprint;
};

// The ciphertext itself: c_1 expanded from the seed.
Ciphertext expand(SeededCiphertext&& seeded);

// A public key: its holder can encrypt, and nothing else.
struct PublicKey {
  Seed seed;     // of a
  RnsPoly b, a;  // b = -a s + e mod Q_L, NTT form
  Fingerprint fingerprint;
};

}  // namespace psm::ckks
