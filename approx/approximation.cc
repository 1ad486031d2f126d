#include "approx/approximation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "approx/chebyshev.h"
#include "ckks/poly/series_plan.h"

namespace psm::approx {
namespace {

// Eight doubles as one value, for the steps of a polynomial on many numbers. Eight independent chains hide the latency
// of an addition. Each lane has the operations of one double, and so its bits.
typedef double Lanes __attribute__((vector_size(64)));
constexpr size_t kLanes = sizeof(Lanes) / sizeof(double);

// Runs the steps on values[0]. The value of step i goes to values[i + 1]; returns the last.
template <typename Real>
const Real& value_of(const std::vector<Step>& steps, std::vector<Real>& values) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const Real a = values[step.left];
    Real& out = values[i + 1];
    switch (step.kind) {
      case Step::Kind::kAdd:
        out = a + values[step.right];
        break;
      case Step::Kind::kMultiply:
        out = a * values[step.right];
        break;
      case Step::Kind::kNegate:
        out = -a;
        break;
      case Step::Kind::kAddConstant:
        out = a + step.constant;
        break;
      case Step::Kind::kMultiplyConstant:
        out = a * step.constant;
        break;
      case Step::Kind::kSeries:
        out = clenshaw<Real>(step.series, a);
        break;
      case Step::Kind::kRefresh:
        out = a;
        break;
    }
  }
  return values[steps.size()];
}

std::string text(const Interval& domain) { return message("[", domain.lo, ", ", domain.hi, "]"); }

}  // namespace

Approximation::Approximation(Facts facts, const Steps& steps, double (*exact)(double))
    : body_(
          std::make_shared<const Body>(Body{std::move(facts), cost_of(steps.list()), steps.list(), exact})) {
  PSM_CHECK(error_bound() >= 0 && std::isfinite(error_bound()), function(), " ", error_bound());
  PSM_CHECK(domain().lo < domain().hi, domain().lo, " ", domain().hi);
}

Approximation::Cost Approximation::cost_of(const std::vector<Step>& steps) {
  struct Reached {
    int level = 0;         // levels consumed since v
    long long degree = 1;  // as a polynomial of v
  };
  std::vector<Reached> reached(1);
  Cost cost;
  for (const Step& step : steps) {
    Reached out = reached[step.left];
    const Reached& right = reached[step.right];
    switch (step.kind) {
      case Step::Kind::kAdd:
        out = {std::max(out.level, right.level), std::max(out.degree, right.degree)};
        break;
      case Step::Kind::kMultiply:
        out = {std::max(out.level, right.level) + 1, out.degree + right.degree};
        ++cost.multiplications;
        break;
      case Step::Kind::kMultiplyConstant:
        ++out.level;
        break;
      case Step::Kind::kSeries: {
        const ckks::Series series{step.series};
        out = {out.level + series.depth(), out.degree * series.degree()};
        if (series.degree() > 0)
          cost.multiplications +=
              ckks::plan_series(series, ckks::Level::at(series.depth())).relinearisations();
        break;
      }
      case Step::Kind::kNegate:
      case Step::Kind::kAddConstant:
      case Step::Kind::kRefresh:
        break;
    }
    reached.push_back(out);
  }
  cost.depth = reached.back().level;
  cost.degree = reached.back().degree;
  return cost;
}

const std::vector<double>* Approximation::series() const {
  return steps().size() == 1 && steps()[0].kind == Step::Kind::kSeries ? &steps()[0].series : nullptr;
}

double Approximation::evaluate_normalised(double v) const {
  std::vector<double> values(steps().size() + 1, v);
  return value_of(steps(), values);
}

double Approximation::evaluate(double x) const {
  return output_scale() * evaluate_normalised(input_scale() * x + input_offset());
}

void Approximation::evaluate(std::span<double> x) const {
  const size_t whole = x.size() / kLanes * kLanes;
  std::vector<Lanes> values(steps().size() + 1);
  for (size_t i = 0; i < whole; i += kLanes) {
    std::memcpy(&values[0], &x[i], sizeof(Lanes));
    values[0] = input_scale() * values[0] + input_offset();
    const Lanes p = output_scale() * value_of(steps(), values);
    std::memcpy(&x[i], &p, sizeof(Lanes));
  }
  for (double& rest : x.subspan(whole)) rest = evaluate(rest);
}

double Approximation::error_at(double x) const {
  const double f = exact(x);
  const double difference = std::fabs(evaluate(x) - f);
  return error_kind() == ErrorKind::kRelative ? difference / std::fabs(f) : difference;
}

std::vector<double> points_of(const Interval& domain, int count) {
  std::vector<double> points;
  for (int i = 0; i < count; ++i) points.push_back(domain.point(static_cast<double>(i) / (count - 1)));
  return points;
}

double worst_error(const Approximation& approximation, int count) {
  double worst = 0;
  for (const double x : points_of(approximation.domain(), count)) {
    const double error = approximation.error_at(x);
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  return worst;
}

void check_interval(const Interval& domain, const std::string& function) {
  if (std::isfinite(domain.lo) && std::isfinite(domain.hi) && domain.lo < domain.hi) return;
  throw Error(message(function, ": the interval ", text(domain),
                      " is not one: its ends must be finite and min below max; give another interval"));
}

void check_positive(const Interval& domain, const std::string& function) {
  check_interval(domain, function);
  if (!(domain.lo > 0))
    throw Error(message(function, ": the interval ", text(domain),
                        " reaches zero, where the function is infinite; give a min above zero"));
  if (domain.hi / domain.lo > kMaxRatio)
    throw Error(message(function, ": the interval ", text(domain), " spans more than a ratio of ", kMaxRatio,
                        ", beyond what double precision resolves; narrow the interval"));
}

void check_radius(double radius, const std::string& function) {
  if (std::isfinite(radius) && radius > 0) return;
  throw Error(
      message(function, ": the radius ", radius, " is not positive and finite; give the largest |x|"));
}

void check_error(double error, const std::string& function) {
  if (error > 0 && error < 1) return;
  throw Error(message(function, ": the error ", error, " is not between 0 and 1; give for example 2^-12"));
}

}  // namespace psm::approx
