// Lesson 2. Encode, encrypt, add, multiply, rescale, rotate; after every step the
// error, which only the holder of the secret can see, beside its prediction.
#include "ckks/base/error.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"
#include "cmd/lessons/blackboard.h"

using namespace psm::lesson;

template <typename Function>
Slots every_slot(const Slots& like, Function&& f) {
  Slots out(like.size());
  for (size_t j = 0; j < out.size(); ++j) out[j] = f(j);
  return out;
}

double size_of(const Slots& x) { return rms_error(x, Slots(x.size(), 0)); }

int main() {
  title("Lesson 2: encode, encrypt, multiply, rescale");
  TestParty party(insecure_leveled(12, 3));  // a client with its secret, a server
  const Context& context = party.context;
  say_insecure(context.describe());
  const Level top = context.max_level();
  KeyRequest request;
  request.need_relinearisation(top);
  request.need_galois(galois_element(context, 1), top);
  party.add_keys(request);
  const Evaluator& server = *party.evaluator;  // has public keys and no others
  const NoiseModel model(context);
  const Scale scale = context.scale(top), next = context.scale(top - 1);
  const Slots x = party.random_slots(1), y = party.random_slots(2);
  section("Step by step", "Every step's error is near the one that is predicted for it.");
  line("after", "level", "scale", "re slot 0", "error", "predicted");
  const auto write = [&](const char* step, ckks::Level level, double scale_now,
                         const Slots& got, const Slots& exact, double predicted) {
    line(step, level, bits(scale_now, "2^%.3f"), got[0].real(),
         bits(rms_error(got, exact)), bits(predicted));
  };
  const auto after = [&](const char* step, const Ciphertext& c, const Slots& exact,
                         double predicted) {
    write(step, c.level(), c.scale(), party.decryptor.decrypt(c), exact, predicted);
  };

  const Plaintext plain = party.encoder.encode(x, top);
  write("encode x", top, scale, party.encoder.decode(plain), x, model.encoding(scale));

  const Ciphertext a = party.encryptor.encrypt(plain), b = party.encrypt(y, top);
  const double fresh = model.encryption(scale);
  after("encrypt x", a, x, fresh);

  const Slots sum = every_slot(x, [&](size_t j) { return x[j] + y[j]; });
  after("x + y", server.add(a, b), sum, NoiseModel::sum(fresh, fresh));

  // A product of scales, an error of each factor times the other, a key switch.
  const Slots xy = every_slot(x, [&](size_t j) { return x[j] * y[j]; });
  const Ciphertext product = server.multiply(a, b);
  double error = NoiseModel::product(size_of(x), fresh, size_of(y), fresh);
  error = NoiseModel::sum(error, model.key_switch(top, scale * scale));
  after("x y", product, xy, error);

  // Divided by the prime q_l, which is gone: one level less, and a rounding more.
  const Ciphertext rescaled = server.rescale(product);
  error = NoiseModel::sum(error, model.rescale(next));
  after("x y, rescaled", rescaled, xy, error);

  const Slots turned = every_slot(x, [&](size_t j) { return xy[(j + 1) % xy.size()]; });
  error = NoiseModel::sum(error, model.key_switch(top - 1, next));
  after("x y, rotated by one slot", server.rotate(rescaled, 1), turned, error);

  section("Scales are exact, and nothing is adjusted silently",
          "Rescaling gives the level's own scale; a sum over two levels is refused.");
  line("scale after rescaling is S^2 / q", rescaled.scale() == next);
  try {
    server.add(a, rescaled);
  } catch (const Error& refusal) {
    line("x + x y:", refusal.what());
  }
}
