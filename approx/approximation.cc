#include "approx/approximation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/poly/series_plan.h"

namespace psm::approx {

Approximation::Approximation(Facts facts, Cost cost, std::shared_ptr<const Kernel> kernel)
    : facts_(std::move(facts)), cost_(cost), kernel_(std::move(kernel)) {
  PSM_CHECK(facts_.error_bound >= 0 && std::isfinite(facts_.error_bound), facts_.function, " ",
            facts_.error_bound);
  PSM_CHECK(facts_.domain.lo < facts_.domain.hi, facts_.domain.lo, " ", facts_.domain.hi);
}

void Approximation::evaluate(std::span<double> x) const {
  for (double& value : x) value = facts_.input_scale * value + facts_.input_offset;
  kernel_->evaluate(x);
  for (double& value : x) value = facts_.output_scale * value;
}

double Approximation::error_at(double x) const {
  const double f = exact(x);
  const double difference = std::fabs(evaluate(x) - f);
  return facts_.error_kind == ErrorKind::kRelative ? difference / std::fabs(f) : difference;
}

program::Value Approximation::build(program::Builder& builder, program::Value v, const std::string& what,
                                    ckks::Plain where) const {
  const program::Builder::Scope scope(builder, facts_.function);
  if (!what.empty())
    builder.check_range(v, facts_.input_range.lo, facts_.input_range.hi, what, std::move(where));
  return kernel_->build(builder, v);
}

int Approximation::divisor() const {
  if (kernel_->series() == nullptr) return 0;
  const int degree = ckks::Series{*kernel_->series()}.degree();
  const int m = static_cast<int>(std::bit_floor(static_cast<unsigned>(degree)));
  return m >= 4 && degree < m + m / 2 ? m : 0;
}

std::vector<program::Value> Approximation::build_products(program::Builder& builder, program::Value v,
                                                          std::span<const program::Value> y,
                                                          const std::string& what) const {
  std::vector<program::Value> products;
  const int m = divisor();
  if (m == 0) {
    const program::Value out = builder.refresh(build(builder, v, what));
    for (program::Value each : y) products.push_back(builder.multiply(each, out));
    return products;
  }
  const program::Builder::Scope scope(builder, facts_.function);
  builder.check_range(v, facts_.input_range.lo, facts_.input_range.hi, what);
  const auto [quotient, remainder] = ckks::divide({*kernel_->series()}, m);
  const program::Value r = builder.series(v, remainder);
  program::Value t = v;  // T_m by doubling: as a series its coefficient would cost a level
  for (int k = 1; k < m; k *= 2) {
    const program::Value square = builder.square(t);
    t = builder.add_constant(builder.add(square, square), -1);
  }
  const program::Value q = quotient.degree() == 0 ? program::Value{} : builder.series(v, quotient);
  for (program::Value each : y) {
    const program::Value of_q =
        q.valid() ? builder.multiply(q, each) : builder.multiply_constant(each, quotient.coefficients[0]);
    const std::pair<program::Value, program::Value> terms[] = {{r, each}, {t, of_q}};
    products.push_back(builder.sum_of_products(terms));
  }
  return products;
}

int series_multiplications(const std::vector<double>& coefficients) {
  const ckks::Series series{coefficients};
  if (series.degree() == 0) return 0;
  // Any scale and primes of its size will do: they decide nothing but constants.
  constexpr int kScaleBits = 40;
  const std::vector<uint64_t> primes(series.depth() + 1, uint64_t{1} << kScaleBits);
  const ckks::Scale scale(std::ldexp(1.0, kScaleBits));
  return ckks::plan_series(series, ckks::Level::at(series.depth()), scale, scale, primes).relinearisations();
}

}  // namespace psm::approx
