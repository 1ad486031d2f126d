// Lesson 3. Encryption by hand: (c_0, c_1), a product and its relinearisation, an attack
// on decryptions that others see, and the library's way to multiply, with a rescale.
#include "3_encrypt.h"  // the function to write: of exercises/, or of solutions/

#include "ckks/scheme/testing/test_party.h"

using namespace psm::lesson;

void by_hand() {
  using namespace toy;
  const double scale = 0x1p20;
  const Poly s = ternary();
  const auto encrypt = [&](const Poly& m) {  // c_0 + c_1 s = m + e
    const Poly c1 = uniform();
    return Pair{m + gaussian(3.2) - c1 * s, c1};
  };
  const auto decrypt = [&](const Pair& c) { return c.c0 + c.c1 * s; };
  const Slots x = random_slots(), y = random_slots();
  Slots xy = x;
  for (int j = 0; j < kSlots; ++j) xy[j] *= y[j];
  const auto error = [&](const Poly& got, double unit, const Slots& exact) {
    return bits(rms_error(decode(got, unit), exact));
  };

  section("Two polynomials for a message",
          "The error is small with s, and huge without.");
  const Pair a = encrypt(encode(x, scale)), b = encrypt(encode(y, scale));
  line("error of x", error(decrypt(a), scale, x));
  line("error of x, read without s", error(a.c0, scale, x));

  section("A product, and its relinearisation",
          "Three polynomials become two again; this adds little to the error.");
  const Poly d0 = a.c0 * b.c0, d1 = a.c0 * b.c1 + a.c1 * b.c0, d2 = a.c1 * b.c1;
  line("error of d_0 + d_1 s + d_2 s^2",
       error(d0 + d1 * s + d2 * s * s, scale * scale, xy));
  Pair product{d0, d1};  // d_2 = sum_i 2^(10 i) digit_i, key_i encrypts 2^(10 i) s^2
  for (int shift = 0; shift < q.bits; shift += 10) {
    const Poly power = polynomial([&](int k) { return k == 0 ? std::exp2(shift) : 0; });
    const Pair key = encrypt(power * s * s);
    const Poly digit =
        polynomial([&, c = coefficients(d2)](int k) { return c[k] >> shift & 1023; });
    product = {product.c0 + digit * key.c0, product.c1 + digit * key.c1};
  }
  line("error of c_0 + c_1 s", error(decrypt(product), scale * scale, xy));

  section("The attack: s has 64 coefficients; the client shows what it decrypted",
          "Digits give s away, noise delays it; the answer alone does not serve.");
  const auto found = [&](const Slots& shown) {  // coefficients that the attacker has
    const Poly guess = coefficients(recover_secret(encode(shown, scale), a));
    const Poly truth = coefficients(s);
    int right = 0;
    for (int k = 0; k < kN; ++k) right += guess[k] == truth[k];
    return right;
  };
  with_exercise([&] {
    const Poly m = decrypt(a);
    line("shown: all digits", found(decode(m, scale)));
    line("with noise ten times the error", found(decode(m + gaussian(32), scale)));
    Slots mean(kSlots);
    for (int i = 0; i < 100'000; ++i) {
      const Slots shown = decode(m + gaussian(32), scale);
      for (int j = 0; j < kSlots; ++j) mean[j] += shown[j] / 1e5;
    }
    line("the mean of 100,000 such", found(mean));
    const double answer = x[0].real() > 0 ? 1 : -1;
    line("the answer: is slot 0 positive?", found(Slots(kSlots, answer)));
  });
}

void by_the_library() {
  KeyRequest request;
  request.need_relinearisation(3);
  TestParty party(insecure_leveled(12, 3), request);
  const Evaluator& server = *party.evaluator;  // has no secret
  const Slots x = party.random_slots(1);
  Slots squares = x;
  for (auto& z : squares) z *= z;
  section("The library: multiply, then rescale",
          "Dividing by a prime makes the scale S of S^2, one level lower.");
  say_insecure(party.context.describe());
  line("after", "level", "scale", "error");
  const auto write = [&](const char* step, const Ciphertext& c, const Slots& exact) {
    line(step, c.level(), bits(c.scale()), bits(rms_error(party.decrypt(c), exact)));
  };
  const Ciphertext a = party.encrypt(x, 3), product = server.multiply(a, a);
  const Ciphertext rescaled = server.rescale(product);
  write("encrypt x", a, x);
  write("x x", product, squares);
  write("x x, rescaled", rescaled, squares);
}

int main() {
  title("Lesson 3: encryption by hand");
  say("INSECURE: rings this small are for reading along, N = 64 for doing it by hand.");
  by_hand();
  by_the_library();
}
