// Lesson 7. Any smooth function is nearly a polynomial on an interval, and the interval's
// width is what it costs. So a model is trained twice: to be right, then to be narrow.
#include "7_ranges.h"  // the function to write: of exercises/, or of solutions/

#include "approx/goldschmidt.h"
#include "approx/inverse.h"
#include "attention/reference/polynomial_model.h"
#include "train/stages/recipe.h"

using namespace psm::lesson;
using namespace psm::train;

constexpr double kError = 0x1p-8;  // relative, of 1/x

// The iterations that bring 1/x to this error on [lo, hi]; it is worst at lo.
int iterations_for(const Interval& x, double error) {
  int n = 0;
  while (n < 40 && std::abs(inverse(x.lo, x.hi, n) * x.lo - 1) > error) ++n;
  return n;
}

int main() {
  title("Lesson 7: polynomials, and models that need them on small intervals");
  say("INSECURE: nothing is encrypted; the model is tiny, so that you see it learn.");
  section("1/x on [1/64, 1] by Goldschmidt's iteration, error at x = 1/64",
          "An iteration squares the error; the relaxed one is the best of its degree.");
  line("iterations", "yours", "library", "relaxed");
  with_exercise([&] {
    const Interval x{1.0 / 64, 1};
    for (int n = 4; n <= 9; ++n) {
      const double yours = std::abs(inverse(x.lo, x.hi, n) * x.lo - 1);
      // The paper does not count the first factor, which is no product of ciphertexts.
      line(std::to_string(n), bits(yours),
           bits(goldschmidt_inverse(x, n - 1).error_at(x.lo)),
           bits(relaxed_goldschmidt_inverse(x, n).error_at(x.lo)));
    }
  });

  // The task: recall which value followed a key. Attention is PowerSoftmax,
  //     w_j = (s_j^p / L) / (epsilon + mean_i s_i^p):  one 1/x for each row.
  const RecallTask task({.keys = 3, .values = 4, .pairs = 2, .length = 12});
  ModelConfig config;
  config.vocab = task.vocab(), config.context = task.context();
  config.layers = 2, config.width = 32, config.heads = 2, config.ffn = 64;
  config.rotary_fraction = 0.5, config.rotary_base = 20, config.epsilon = 0.2;
  const Batch unseen = task.validation(200);
  ModelWeights weights = random_weights(config, 1);

  section("A model learns to recall, then to keep its values in narrow ranges",
          "The second training costs no accuracy, and saves levels of every layer.");
  line("training", "steps", "seconds", "accuracy", "polynomial");
  const auto train = [&](const char* name, const RangeLosses& losses) {
    TrainerOptions options;
    options.batch = 32, options.rate = {3e-3, 20, 400, 0.05}, options.ranges = losses;
    Trainer trainer(weights, task, options);
    const double time = seconds([&] {
      while (trainer.steps() < 400) trainer.step();
    });
    weights = trainer.weights();
    const Ranges ranges = measure_ranges(weights, task, 512);
    const PolynomialModel polynomial = make_polynomial(weights, ranges);
    line(name, trainer.steps(), format("%.1f", time),
         evaluate(weights, unseen).accuracy(),
         evaluate(batched(polynomial), unseen).accuracy());
    return ranges;
  };
  const Ranges wide = train("to be right", {});
  const Ranges narrow = train("to be narrow", default_range_losses());

  section("What the second training saves",
          "Each level saved is a level more between bootstraps.");
  line("layer: range", "before", "after", "levels before", "levels after");
  for (size_t l = 0; l < wide.layers.size(); ++l) {
    const auto write = [&](const char* what, Interval a, Interval b, auto design) {
      line("layer " + std::to_string(l) + ": " + what, format("%.1f", a.hi / a.lo),
           format("%.1f", b.hi / b.lo), design(a, kError).depth(),
           design(b, kError).depth());
    };
    const LayerRanges &a = wide.layers[l], &b = narrow.layers[l];
    write("denominator, hi / lo", a.denominator, b.denominator, design_inverse);
    write("variance, hi / lo", a.variance, b.variance, design_inverse_sqrt);
    with_exercise([&] {
      line("layer " + std::to_string(l) + ": your iterations",
           iterations_for(a.denominator, kError), iterations_for(b.denominator, kError));
    });
  }
}
