#include "ckks/bootstrap/error_model.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/bootstrap/overflow.h"
#include "ckks/scheme/errors/noise.h"

namespace psm::ckks {
namespace {

constexpr int kComponents = 32;  // stand for uniform ones

double square(double x) { return x * x; }

// The variance that one factor adds in its result's slots; `size`: mean square of the argument's slots.
double variance_of(const PlacedTransform& t, const NoiseModel& noise, double size) {
  const Context& context = noise.context();
  const Scale plain_scale(before_rescale(t.output_scale, context.q(t.level)) / t.input_scale);
  double variance = square(noise.rescale(t.output_scale));
  for (const TransformTerm& term : t.transform.terms) {
    variance += size * square(noise.encoding(plain_scale, static_cast<int>(term.weight.period())));
    if (t.transform.from_ephemeral) {
      variance += term.weight.mean_square() * square(noise.raised_digit(t.level, t.input_scale));
    } else if (term.baby != 0 || term.conjugate) {
      variance += term.weight.mean_square() * square(noise.digits(t.level, t.input_scale));
    }
  }
  return variance;
}

// The mean square by which a factor makes slots larger: that of its rows.
double growth_of(const PlacedTransform& t) {
  double sum = 0;
  for (const TransformTerm& term : t.transform.terms) sum += term.weight.mean_square();
  return sum;
}

class ErrorModel {
 public:
  explicit ErrorModel(const BootstrapPlan& plan)
      : plan_(plan), context_(plan.context()), noise_(context_), eval_mod_(plan.eval_mod().polynomial()) {}

  // The variance of EvalMod's argument, in units of the message; `size`: complex mean square of the slots.
  double argument_variance(double size) const {
    const double n = context_.slots();
    double slots = square(noise_.key_switch(plan_.entry_level(), context_.scale(plan_.entry_level())));
    for (const PlacedTransform& t : plan_.slots_to_coeffs()) {
      const double growth = growth_of(t);
      slots = slots * growth + variance_of(t, noise_, size);
      size *= growth;
    }
    slots += square(noise_.mod_raise(lowered_scale(context_)));
    const double coefficient = slots / (2 * n);

    // In the scale that ModRaise declares, 2 K' q_0, K' the half width.
    const double width = eval_mod_.half_width();
    double variance = 0;
    double raised =
        2 * n * ((EvalMod::kEphemeralWeight + 1) / 12.0) / square(2 * width);  // I's variance (overflow.h)
    for (const PlacedTransform& t : plan_.coeffs_to_slots()) {
      const double growth = growth_of(t);
      variance = variance * growth + variance_of(t, noise_, raised);
      raised *= growth;
    }
    // v + conj v: twice the real part. What the key switch of conj v adds to re and i im has opposite signs.
    return coefficient + 2 * variance * square(width * eval_mod_.message_ratio());
  }

  // What EvalMod adds, at u = i + z / R; its result in units of the message.
  double eval_mod_variance(double u) const {
    const SeriesPlan& series = plan_.eval_mod().series();
    const std::vector<double> values = node_values(series, static_cast<double>(eval_mod_.argument(u)));

    // Double angles: slopes[k] = derivative of the result by d_k.
    std::vector<double> d{values.back()};
    for (const double lambda : EvalMod::kLambdas) d.push_back(square(d.back()) - lambda);
    std::vector<double> slopes(d.size(), eval_mod_.output_gain());
    for (size_t k = EvalMod::kLambdas.size(); k-- > 0;) slopes[k] = slopes[k + 1] * 2 * d[k];
    double variance = 0;
    Scale scale = series.nodes.back().scale;
    Level level = series.nodes.back().level;
    for (size_t k = 1; k < d.size(); ++k, --level) {
      const Scale before = scale * scale;
      scale = after_rescale(before, context_.q(level));
      variance += square(slopes[k] * noise_.relinearise_rescale(level, before, scale));
    }

    std::vector<double> slope(values.size(), 0);
    slope.back() = slopes[0];
    for (size_t n = values.size(); n-- > 1;) {
      const SeriesPlan::Node& node = series.nodes[n];
      variance +=
          square(slope[n] * (node.products.empty()
                                 ? noise_.rescale(node.scale)
                                 : noise_.relinearise_rescale(node.level + 1, node.sum_scale, node.scale)));
      for (const SeriesPlan::Product& p : node.products) {
        const auto a = static_cast<size_t>(p.left), b = static_cast<size_t>(p.right);
        const double weighted = (p.doubled ? 2 : 1) * slope[n];
        slope[a] += weighted * values[b];
        slope[b] += weighted * values[a];
      }
      for (const SeriesPlan::Term& t : node.terms) slope[t.node] += t.coefficient * slope[n];
    }
    return variance;
  }

 private:
  const BootstrapPlan& plan_;
  const Context& context_;
  NoiseModel noise_;
  const EvalMod& eval_mod_;
};

}  // namespace

std::vector<ErrorTerm> error_law(const BootstrapPlan& plan, std::span<const double> components) {
  PSM_CHECK(!plan.kind().sparse(), "the law is that of a full bootstrap, not of ", plan.kind().text());
  std::vector<double> uniform;
  for (int i = 0; i < kComponents; ++i) uniform.push_back((2 * i + 1.0) / kComponents - 1);
  if (components.empty()) components = uniform;
  const double share = 1.0 / static_cast<double>(components.size());
  double size = 0;
  for (const double z : components) {
    PSM_CHECK(std::abs(z) <= 1, z);
    size += 2 * z * z * share;
  }

  const ErrorModel model(plan);
  const EvalMod& eval_mod = plan.eval_mod().polynomial();
  const double argument = model.argument_variance(size);
  constexpr int k = EvalMod::kLargestMultiple;
  std::vector<double> probability,
      variance;  // by I; z changes u by 1 / R at most, and the variance as little
  for (int i = -k; i <= k; ++i) {
    probability.push_back(multiple_probability(i));
    variance.push_back(model.eval_mod_variance(i));
  }
  std::vector<ErrorTerm> law;
  for (int i = -k; i <= k; ++i)
    for (const double z : components) {
      const auto result = eval_mod.output_gain() * eval_mod.evaluate(i + z / eval_mod.message_ratio());
      for (int other = 0; other <= 2 * k; ++other)
        law.push_back({probability[i + k] * probability[other] * share, static_cast<double>(result) - z,
                       std::sqrt(argument + (variance[i + k] + variance[other]) / 2)});
    }
  return law;
}

BootstrapError predict_error(const BootstrapPlan& plan) {
  double polynomial = 0, rounding = 0;
  for (const ErrorTerm& term : error_law(plan)) {
    polynomial += term.probability * square(term.d);
    rounding += term.probability * square(term.deviation);
  }
  return {std::sqrt(polynomial), std::sqrt(rounding)};
}

}  // namespace psm::ckks
