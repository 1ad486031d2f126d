// Lesson 5. One row of PowerSoftmax: float, polynomial, and slot program on all machines.
#include "attention/rows/polynomial_weights.h"
#include "attention/rows/row_program.h"
#include "attention/rows/row_weights.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/testing/test_machine.h"
#include "cmd/lessons/blackboard.h"

using namespace psm::lesson;

int main() {
  title("Lesson 5: one row of PowerSoftmax, from float to ciphertext");
  const ParameterSpec ring = insecure_bootstrappable(10);
  const Context context(ring);
  say_insecure(context.describe());
  const std::vector<float> scores{1.6f, -0.4f, 0.9f, 0.1f, -1.9f, 0.3f, 1.2f, -0.7f};
  const double bound = 2;  // of all scores

  // In floating point: w_j = (x_j^p / L) / (epsilon + mean_i x_i^p), p = 4.
  ModelConfig config;
  config.epsilon = 0.05;
  std::vector<float> exact(8), softmax(8);
  row_weights(config, scores.data(), 8, exact.data());
  config.attention = AttentionKind::kSoftmax;
  row_weights(config, scores.data(), 8, softmax.data());

  // As a polynomial: 1/x by iteration, on the interval of the denominator.
  const Interval sums{config.epsilon, config.epsilon + std::pow(bound, config.power)};
  const PolynomialRow weights = power_softmax_polynomial(config, sums, 0x1p-8);
  std::vector<double> polynomial(scores.begin(), scores.end());
  weights.evaluate(polynomial);

  // As a slot program: 64 rows of eight places, here all the same.
  const RowPacking packing{512, 8, {8}, bound};
  const RowProgram rows = weights.in_slots(packing);
  program::Builder builder(packing.slots);
  const program::Value in = builder.input("scores", /*real=*/true);
  builder.output("weights", rows.build(builder, {in}).slots[0]);
  program::TestMachine machine(ring, std::move(builder).finish());
  const std::vector<std::vector<double>> copies(64, {scores.begin(), scores.end()});
  const program::SlotVector slots = pack_rows(packing, rows.input_scale, copies)[0];

  // On the twin, in the clear; on the encrypted machine, which has public keys alone.
  const program::TwinResult twin = run_twin(machine.plan_.program, {{"scores", slots}});
  const program::SlotVector& clear = twin.outputs.at("weights");
  const program::SlotVector encrypted = machine.run({{"scores", slots}}).at("weights");
  section("The weights of eight scores",
          "Four forms of PowerSoftmax agree; they, unlike softmax, weigh -1.9 most.");
  line("score", "softmax", "float", "polynomial", "twin", "ciphertext");
  double worst = 0, apart = 0;
  for (size_t j = 0; j < 8; ++j) {
    line(format("%.1f", scores[j]), softmax[j], exact[j], polynomial[j], clear[j].real(),
         encrypted[j].real());
    worst = std::max(worst, std::abs(polynomial[j] / exact[j] - 1));
    apart = std::max(apart, std::abs(clear[j].real() - polynomial[j]));
  }
  section("How far apart they are, and what was promised",
          "Each difference is within its bound, or near its prediction.");
  const program::Plan& plan = machine.plan_;
  const auto own = predicted_noise(plan, NoiseModel(context), 0, twin.observations);
  const auto errors =
      accumulated_noise(plan, NoiseModel(context), own, twin.observations);
  const double predicted = errors[plan.program.outputs[0].value.id];
  line("polynomial / float - 1, bound", bits(worst), bits(weights.error_bound));
  line("twin - polynomial", bits(apart));
  line("ciphertext - twin, predicted", bits(rms_error(encrypted, clear) / std::sqrt(2)),
       bits(predicted));
  section("The meter: what it costs, before there is a key",
          "The plan alone tells the operations, and the bytes of the keys made later.");
  const auto reading = meter(plan, program::CostModel(context.chain()));
  const program::Counts& counts = reading.counts;
  line("instructions, levels", plan.program.instructions.size(), rows.levels);
  line("products, relinearisations", counts.ciphertext_products, counts.relinearisations);
  line("rotations, bootstraps", counts.hoisted_key_switches + counts.full_key_switches,
       counts.bootstraps);
  line("keys predicted, made", bytes_text(reading.key_bytes()),
       bytes_text(machine.party.keys.bytes()));
}
