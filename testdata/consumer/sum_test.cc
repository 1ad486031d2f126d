// What another workspace builds on //ckks: two vectors are encrypted, added and decrypted.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

using namespace psm::ckks;

int main() {
  // N = 2^16 at 128-bit security, with one level to compute on.
  const Context context(secure_n16_leveled(1));
  const Encoder encoder(context);

  const SecretKey secret = SecretKey::generate(context);
  KeyGenerator generator(secret);
  const PublicKey public_key = generator.public_key();
  const EvaluationKeys keys = generator.evaluation_keys({});

  Encryptor encryptor(context, public_key);
  const std::vector<std::complex<double>> x(context.slots(), 0.5), y(context.slots(), {0.25, -1});
  const Ciphertext a = encryptor.encrypt(encoder.encode(x, 1)), b = encryptor.encrypt(encoder.encode(y, 1));

  const Ciphertext sum = Evaluator(context, keys).add(a, b);

  double error = 0;
  for (const auto& z : Decryptor(secret, encoder).decrypt(sum))
    error = std::max(error, std::abs(z - std::complex<double>(0.75, -1)));
  std::printf("off by %.1e\n", error);
  return error < 1e-5 ? 0 : 1;
}
