// Lesson 5. A matrix times an encrypted vector: by diagonals, with a rotation for each;
// and with baby and giant steps, about 2 sqrt(n) rotations for n diagonals.
#include "5_matrix.h"  // the function to write: of exercises/, or of solutions/

#include "ckks/base/random/training_random.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/scheme/testing/test_party.h"

using namespace psm::lesson;

constexpr int kSize = 64, kTop = 2;  // of the matrix; the level of the vector

// What the server can do, counted. Encrypted vectors repeat with the matrix's size.
struct Server {
  const TestParty& party;
  int rotations = 0;

  Ciphertext rotate(const Ciphertext& c, int k) {
    if (k == 0) return c.clone();
    ++rotations;
    return party.evaluator->rotate(c, k);
  }
  Ciphertext multiply(const Ciphertext& c, const Slots& diagonal) {
    return party.evaluator->multiply_plain(c, party.encoder.encode(diagonal, c.level()));
  }
  void add(std::optional<Ciphertext>& sum, Ciphertext c) {
    if (sum) return party.evaluator->add_inplace(*sum, c);
    sum = std::move(c);
  }
};

// y = sum_k d_k . rot_k(x): a rotation for each diagonal but the first.
Ciphertext by_diagonals(Server& server, const Ciphertext& x,
                        const std::vector<Slots>& diagonals) {
  std::optional<Ciphertext> y;
  for (int k = 0; k < kSize; ++k)
    server.add(y, server.multiply(server.rotate(x, k), diagonals[k]));
  return std::move(*y);
}

int main() {
  title("Lesson 5: matrices by diagonals");
  TestParty party(insecure_leveled(12, kTop));
  const Context& context = party.context;
  say_insecure(context.describe());
  std::vector<int> offsets;
  for (int k = 1; k < kSize; ++k) offsets.push_back(k);
  party.add_rotations(offsets, kTop);

  // M[j][j + k] = d_k[j], entries so small that M x stays below one.
  TrainingRandom random(1);
  std::vector<Slots> diagonals(kSize, Slots(kSize));
  DiagonalMatrix matrix(context.slots(), kSize);
  for (int k = 0; k < kSize; ++k) {
    for (auto& entry : diagonals[k]) entry = random.uniform(-1, 1) / kSize;
    matrix.add(k, diagonals[k]);
  }
  const Slots x = party.random_slots(2, kSize);
  Slots y(context.slots());
  for (size_t j = 0; j < y.size(); ++j)
    for (size_t k = 0; k < kSize; ++k)
      y[j] += diagonals[k][j % kSize] * x[(j + k) % kSize];
  const Ciphertext encrypted = party.encrypt(x, kTop);
  const auto error = [&](const Ciphertext& c) {
    return bits(rms_error(party.decrypt(c), y));
  };

  section("A matrix of 64 diagonals",
          "Every way has the same error; baby and giant steps rotate least at 8 x 8.");
  line("way", "rotations", "seconds", "error");
  const auto run = [&](const std::string& name, auto way) {
    Server server{party};
    std::optional<Ciphertext> c;
    const double time = seconds([&] { c = party.evaluator->rescale(way(server)); });
    line(name, server.rotations, time, error(*c));
  };
  run("by diagonals", [&](Server& s) { return by_diagonals(s, encrypted, diagonals); });
  with_exercise([&] {
    for (int babies = 1; babies <= kSize; babies *= 2)
      run("yours, baby steps: " + std::to_string(babies), [&](Server& server) {
        return baby_and_giant_steps(server, encrypted, diagonals, babies);
      });
  });

  section("The library's: hoisted babies, one division for all of them",
          "As few rotations, and the babies share one decomposition.");
  const LinearTransform steps = baby_step_giant_step(matrix, 1, 8);
  const EncodedTransform transform(context, party.encoder, steps, kTop,
                                   context.scale(kTop), context.scale(kTop - 1));
  std::optional<Ciphertext> c;
  const double time = seconds([&] { c = transform.apply(*party.evaluator, encrypted); });
  const TransformSchedule& schedule = transform.schedule();
  line("rotations: babies, giants", schedule.counts.hoisted_rotations,
       schedule.counts.giant_rotations);
  line("seconds, error", time, error(*c));
}
