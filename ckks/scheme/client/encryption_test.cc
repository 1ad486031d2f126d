#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

TestParty& party() {
  static TestParty party(insecure_leveled(11, 4));
  return party;
}

struct Shared {
  TestParty& t = party();
};

// Tolerances below are more than forty deviations (ckks/base/testing/chance.h): those are 2^-28 of fresh encryptions,
// 2^-33 of seeded ones.

}  // namespace

TEST_CASE_FIXTURE(Shared,
                  "a scale beyond what the decoder reads is divided down first: the values come back") {
  const Slots x = t.random_slots(8);
  for (const double log_scale :
       {60.0, 90.0, 100.0, 110.0, 120.0, 126.0, 127.0, 128.0, 130.0, 140.0, 150.0, 160.0}) {
    CAPTURE(log_scale);
    Plaintext p = t.encoder.encode(x, 4, Scale(std::exp2(log_scale)));
    CHECK(max_error(t.decrypt(t.encryptor.encrypt(p)), x) < 1e-6);
  }
}

TEST_CASE_FIXTURE(Shared, "values up to 2^20 have room at every scale that the modulus holds them at") {
  Slots x = t.random_slots(9);
  for (auto& slot : x) slot *= 0x1p20;
  for (double log_scale = 80; log_scale < t.context.log2_q(4) - 24; log_scale += 4) {
    CAPTURE(log_scale);
    const Ciphertext c = t.encryptor.encrypt(t.encoder.encode(x, 4, Scale(std::exp2(log_scale))));
    CHECK(max_error(t.decrypt(c), x) < 1);
  }
}

TEST_CASE_FIXTURE(Shared, "a scale that leaves no room for a value below the modulus is refused") {
  Ciphertext c = t.encrypt(t.random_slots(10), 0);
  c.declare_scale(Scale(std::exp2(t.context.log2_q(0))));
  CHECK_REFUSED(t.decrypt(c), "no room");
  c.declare_scale(Scale());
  CHECK_THROWS_AS(t.decrypt(c), Error);
}

TEST_CASE_FIXTURE(Shared,
                  "seeded encryption: half the bytes, expanded without the secret, decrypted as usual") {
  SeededEncryptor encryptor(t.secret);
  const Slots x = t.random_slots(3);
  SeededCiphertext first = encryptor.encrypt(t.encoder.encode(x, 3)),
                   second = encryptor.encrypt(t.encoder.encode(x, 3));
  CHECK_FALSE(first.seed == second.seed);
  CHECK(first.c0.bytes() * 2 == t.context.chain().ciphertext_bytes(3));
  CHECK(max_error(t.decrypt(expand(std::move(first))), x) < 1e-8);
  CHECK(max_error(t.decrypt(expand(std::move(second))), x) < 1e-8);
}

TEST_CASE_FIXTURE(Shared, "a fork gives parent and child encryptions of different seeds, masks and errors") {
  SeededEncryptor seeded(t.secret);
  const Plaintext x = t.encoder.encode(t.random_slots(6), 1);
  // Seed, first residue of the seeded c_0, first residues of the public-key encryption.
  struct Drawn {
    Seed seed;
    uint64_t seeded, c0, c1;
  };
  const auto draw = [&] {
    const SeededCiphertext a = seeded.encrypt(x);
    const Ciphertext b = t.encryptor.encrypt(x);
    return Drawn{a.seed, a.c0.limb(0)[0], b.c[0].limb(0)[0], b.c[1].limb(0)[0]};
  };
  const auto childs = from_child<Drawn>(draw);
  const Drawn own = draw();
  CHECK_FALSE(own.seed == childs.seed);
  CHECK(own.seeded != childs.seeded);
  CHECK(own.c0 != childs.c0);
  CHECK(own.c1 != childs.c1);
}

TEST_CASE_FIXTURE(Shared,
                  "a resumed process image encrypts with another seed, another mask and other errors") {
  const Plaintext x = t.encoder.encode(t.random_slots(7), 1);
  const auto image_of = [](const auto& object) {
    std::vector<char> image(sizeof object);
    std::memcpy(image.data(), static_cast<const void*>(&object), sizeof object);
    return image;
  };
  SeededEncryptor seeded(t.secret);
  Encryptor encryptor(t.context, t.public_key);
  seeded.encrypt(x);
  encryptor.encrypt(x);
  const std::vector<char> seeded_image = image_of(seeded), image = image_of(encryptor);
  SeededCiphertext a = seeded.encrypt(x);
  const Ciphertext b = encryptor.encrypt(x);
  std::memcpy(static_cast<void*>(&seeded), seeded_image.data(), sizeof seeded);
  std::memcpy(static_cast<void*>(&encryptor), image.data(), sizeof encryptor);
  SeededCiphertext a_again = seeded.encrypt(x);
  const Ciphertext b_again = encryptor.encrypt(x);
  CHECK_FALSE(a.seed == a_again.seed);
  CHECK(max_error(t.decrypt(expand(std::move(a))), t.decrypt(expand(std::move(a_again)))) > 0);
  CHECK(max_error(t.decrypt(b), t.decrypt(b_again)) > 0);
  CHECK(b.c[1].limb(0)[0] != b_again.c[1].limb(0)[0]);
}

TEST_CASE_FIXTURE(
    Shared, "without the right secret nothing is learnt: another key pair's decryption is refused or noise") {
  TestParty stranger(insecure_leveled(11, 4));
  Ciphertext c = t.encrypt(t.random_slots(5), 2);
  CHECK_THROWS_AS(stranger.decrypt(c), Error);
  c.fingerprint = stranger.secret.fingerprint();  // a forged label: the result is of the size of the modulus
  CHECK(max_error(stranger.decrypt(c), t.random_slots(5)) > 1e6);
}

TEST_CASE_FIXTURE(Shared, "a public key of other parameters is refused") {
  const Context other(insecure_leveled(11, 3));
  CHECK_THROWS_AS(Encryptor(other, t.public_key), Error);
}

TEST_CASE_FIXTURE(Shared, "a plaintext of another ring, or an extended one, is not encrypted") {
  const Context other(insecure_leveled(12, 3));
  const Slots x = t.random_slots(8);
  const Plaintext foreign = Encoder(other).encode(Slots(x.size()), 1);
  const Plaintext extended = t.encoder.encode(x, 1, t.context.scale(1), true);
  for (const Plaintext* plaintext : {&foreign, &extended}) {
    CHECK(is_stopped([&] { t.encryptor.encrypt(*plaintext); }));
    CHECK(is_stopped([&] { SeededEncryptor(t.secret).encrypt(*plaintext); }));
  }
}

TEST_CASE("secret keys cannot be copied") {
  CHECK_FALSE(std::is_copy_constructible_v<SecretKey>);
  CHECK_FALSE(std::is_copy_assignable_v<SecretKey>);
  CHECK(std::is_nothrow_move_constructible_v<SecretKey>);
}

}  // namespace psm::ckks
