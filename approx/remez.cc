#include "approx/remez.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ckks/base/error.h"

namespace psm::approx {
namespace {

// Rounding of evaluate() in double precision: some units of 2^-53 of the sum of the terms.
long double rounding(const Coefficients& c) { return 0x1p-50L * sum_of_absolute(c); }

// A first look at |c - centre|, which decides how fine a proof has to be.
long double seen(const Coefficients& c, long double centre) {
  long double largest = 0;
  for (int i = 0; i <= 256; ++i) {
    const long double t = std::cos(kPi * i / 256);
    largest = std::max(largest, std::fabs(clenshaw(c, t) - centre));
  }
  return largest;
}

constexpr int kMaxSteps = 60;
constexpr int kGridPerExtremum = 12;

// p and the levelled error h, from the reference t_0 < ... < t_{n+1}: weight_j * (f_j - p(t_j)) = (-1)^j h.
class Trial {
 public:
  Trial(std::vector<long double> nodes, const RealFunction& f, const RealFunction& weight)
      : nodes_(std::move(nodes)), values_(nodes_.size()), barycentric_(nodes_.size()) {
    const size_t n = nodes_.size();
    long double numerator = 0, denominator = 0;
    for (size_t j = 0; j < n; ++j) {
      long double product =
          1;  // factors doubled: the interval has capacity 1/2, so the product stays moderate
      for (size_t i = 0; i < n; ++i)
        if (i != j) product *= 2 * (nodes_[j] - nodes_[i]);
      barycentric_[j] = 1 / product;
      values_[j] = f(nodes_[j]);
      numerator += barycentric_[j] * values_[j];
      denominator += barycentric_[j] * (j % 2 == 0 ? 1 : -1) / weight(nodes_[j]);
    }
    levelled_ = numerator / denominator;
    for (size_t j = 0; j < n; ++j) values_[j] -= (j % 2 == 0 ? 1 : -1) * levelled_ / weight(nodes_[j]);
  }

  long double levelled() const { return std::fabs(levelled_); }

  long double operator()(long double t) const {
    long double numerator = 0, denominator = 0;
    for (size_t j = 0; j < nodes_.size(); ++j) {
      const long double distance = t - nodes_[j];
      if (distance == 0) return values_[j];
      const long double share = barycentric_[j] / distance;
      numerator += share * values_[j];
      denominator += share;
    }
    return numerator / denominator;
  }

 private:
  std::vector<long double> nodes_, values_, barycentric_;
  long double levelled_ = 0;
};

struct Extremum {
  long double theta = 0;
  long double error = 0;
};

// The largest error of each run of equal signs, refined by parabolas.
template <typename Error>
std::vector<Extremum> alternating_extrema(const Error& error_at, int count) {
  const int cells = kGridPerExtremum * count;
  std::vector<Extremum> runs;
  for (int i = 0; i <= cells; ++i) {
    const long double theta = kPi * (cells - i) / cells;  // t = cos(theta) increasing
    const long double error = error_at(theta);
    if (runs.empty() || (error > 0) != (runs.back().error > 0)) {
      runs.push_back({theta, error});
    } else if (std::fabs(error) > std::fabs(runs.back().error)) {
      runs.back() = {theta, error};
    }
  }
  // The vertex of the parabola through three errors h apart around theta.
  const auto vertex = [&](Extremum& run, long double h) {
    const long double middle = std::clamp(run.theta, h, kPi - h);
    const long double left = error_at(middle - h), centre = error_at(middle), right = error_at(middle + h);
    const long double bend = left - 2 * centre + right;
    if (bend == 0) return;
    const long double theta = std::clamp(middle + h * (left - right) / (2 * bend), middle - h, middle + h);
    const Extremum refined{theta, error_at(theta)};
    const bool same_sign = (refined.error > 0) == (run.error > 0);
    if (same_sign && std::fabs(refined.error) > std::fabs(run.error)) run = refined;
  };
  for (Extremum& run : runs) {
    vertex(run, kPi / cells);
    vertex(run, kPi / cells / 16);
  }
  return runs;
}

// Leaves `count` alternating extrema: drops the smaller end, or the neighbouring pair that matters least.
void thin(std::vector<Extremum>& extrema, size_t count) {
  const auto size = [&](size_t i) { return std::fabs(extrema[i].error); };
  while (extrema.size() > count) {
    if (extrema.size() == count + 1) {
      extrema.erase(size(0) < size(extrema.size() - 1) ? extrema.begin() : extrema.end() - 1);
      continue;
    }
    size_t weakest = 0;
    for (size_t i = 0; i + 1 < extrema.size(); ++i)
      if (std::max(size(i), size(i + 1)) < std::max(size(weakest), size(weakest + 1))) weakest = i;
    extrema.erase(extrema.begin() + weakest, extrema.begin() + weakest + 2);
  }
}

}  // namespace

double certified_error(std::span<const double> series, const RealFunction& f, long double rho,
                       long double bound) {
  PSM_CHECK(rho > 1 && bound > 0, "rho ", static_cast<double>(rho), " bound ", static_cast<double>(bound));
  const Coefficients p = to_long(series);
  // N with 4 bound rho^-N / (rho - 1) <= 1e-17 bound.
  constexpr int kMaxDegree = 8000;
  const long double wanted = std::log(4e17L / (rho - 1)) / std::log(rho);
  const int degree = std::clamp(static_cast<int>(wanted) + 1, static_cast<int>(p.size()), kMaxDegree);
  const long double tail = 4 * bound * std::pow(rho, -static_cast<long double>(degree)) / (rho - 1);
  Coefficients difference = chebyshev_interpolate(f, degree);
  const long double size = sum_of_absolute(difference);
  for (size_t k = 0; k < p.size(); ++k) difference[k] -= p[k];
  const SeriesRange range = certified_range(difference, std::max(seen(difference, 0) * 5e-3L, size * 1e-17L));
  const long double interpolation_rounding = 0x1p-60L * degree * size;
  return static_cast<double>(std::max(std::fabs(range.lo), std::fabs(range.hi)) + tail +
                             interpolation_rounding + rounding(p));
}

double certified_inverse_sqrt_error(std::span<const double> series, Interval domain) {
  const Coefficients p = to_long(series);
  const Coefficients y{static_cast<long double>(domain.midpoint()),
                       static_cast<long double>(domain.width()) / 2};
  const Coefficients b = chebyshev_product(chebyshev_product(p, p), y);
  const SeriesRange range = certified_range(b, std::max(seen(b, 1) * 5e-3L, 1e-16L));
  if (range.lo <= 0 || clenshaw(p, 1.0L) <= 0) return std::numeric_limits<double>::infinity();
  const long double error = std::max(std::sqrt(range.hi) - 1, 1 - std::sqrt(range.lo));
  // evaluate() rounds t to some units of 2^-54, which moves an x near lo by as much of hi.
  const long double argument = 0x1p-52L * domain.hi / domain.lo;
  return static_cast<double>(error + argument + rounding(p) * std::sqrt(static_cast<long double>(domain.hi)));
}

MinimaxFit remez(const RealFunction& f, const RealFunction& weight, int degree, long double tolerance) {
  PSM_CHECK(degree >= 0 && tolerance > 0, "degree ", degree);
  const int count = degree + 2;
  std::vector<long double> nodes(count);
  for (int j = 0; j < count; ++j) nodes[j] = std::cos(kPi * (count - 1 - j) / (count - 1));

  MinimaxFit best;
  for (int step = 1; step <= kMaxSteps; ++step) {
    const Trial trial(nodes, f, weight);
    const auto error_at = [&](long double theta) {
      const long double t = std::cos(theta);
      return weight(t) * (f(t) - trial(t));
    };
    std::vector<Extremum> extrema = alternating_extrema(error_at, count);
    long double largest = 0;
    for (const Extremum& e : extrema) largest = std::max(largest, std::fabs(e.error));
    const long double lower_bound = std::max(best.lower_bound, trial.levelled());
    if (step == 1 || largest < best.error) {
      best.coefficients = chebyshev_interpolate(trial, degree);
      best.error = largest;
    }
    best.lower_bound = std::min(lower_bound, best.error);
    if (best.error <= (1 + tolerance) * best.lower_bound) break;
    if (static_cast<int>(extrema.size()) < count) {
      if (step > 1) break;
      // Even and odd functions may have the levelled error 0 on symmetric references, and so no extremum at
      // the ends: inner nodes leave one there.
      for (int j = 0; j < count; ++j) nodes[j] = std::cos(kPi * (2 * (count - j) - 1) / (2 * count));
      continue;
    }
    thin(extrema, count);
    for (int j = 0; j < count; ++j) nodes[j] = std::cos(extrema[j].theta);
  }
  return best;
}

}  // namespace psm::approx
