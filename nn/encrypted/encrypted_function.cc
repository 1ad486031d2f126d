#include "nn/encrypted/encrypted_function.h"

#include <bit>
#include <map>
#include <utility>

#include "ckks/base/error.h"

namespace psm::nn {

using approx::Approximation;
using approx::Step;
using program::Builder;
using program::Value;

namespace {

// m; 0: P is not divided.
int divisor(const Approximation& f) {
  if (f.series() == nullptr) return 0;
  const int degree = ckks::Series{*f.series()}.degree();
  const int m = static_cast<int>(std::bit_floor(static_cast<unsigned>(degree)));
  return m >= 4 && degree < m + m / 2 ? m : 0;
}

Value result_of(Builder& builder, const Step& step, const std::vector<Value>& values) {
  const Value a = values[step.left], b = values[step.right];
  switch (step.kind) {
    case Step::Kind::kAdd:
      return builder.add(a, b);
    case Step::Kind::kMultiply:
      return builder.multiply(a, b);
    case Step::Kind::kNegate:
      return builder.negate(a);
    case Step::Kind::kAddConstant:
      return builder.add_constant(a, step.constant);
    case Step::Kind::kMultiplyConstant:
      return builder.multiply_constant(a, step.constant);
    case Step::Kind::kSeries:
      return builder.series(a, {step.series});
    case Step::Kind::kRefresh:
      break;
  }
  return a;  // refreshed with its neighbours
}

void check_argument(Builder& builder, const Approximation& f, Value v, const std::string& what) {
  if (!what.empty()) builder.check_range(v, f.input_range().lo, f.input_range().hi, what);
}

// `made`: the powers so far. Both factors of x^3 x^2 and of x^4 x^3 need x^2.
Value power_from(Builder& builder, std::map<int, Value>& made, int p) {
  if (const auto found = made.find(p); found != made.end()) return found->second;
  const Value half = power_from(builder, made, p / 2);
  const Value power =
      p % 2 == 0 ? builder.square(half) : builder.multiply(power_from(builder, made, p / 2 + 1), half);
  made.emplace(p, power);
  return power;
}

// Twice the wanted parts of each, re and im one after the other.
std::vector<Value> separated(Builder& builder, std::span<const Value> values, Parts wanted) {
  std::vector<Value> parts;
  for (Value z : values) {
    if (wanted == Parts::kReal) {
      parts.push_back(builder.twice_real_part(z));
      continue;
    }
    const Value conjugate = builder.conjugate(z);
    parts.push_back(builder.mark_real(builder.add(z, conjugate)));
    parts.push_back(builder.mark_real(builder.times_i(builder.subtract(conjugate, z))));
  }
  return parts;
}

}  // namespace

Value build(Builder& builder, const Approximation& f, Value v, const std::string& what) {
  const Builder::Scope scope(builder, f.function());
  check_argument(builder, f, v, what);
  std::vector<Value> values{v};
  const std::vector<Step>& steps = f.steps();
  for (size_t i = 0; i < steps.size();) {
    std::vector<Value> together;
    for (; i < steps.size() && steps[i].kind == Step::Kind::kRefresh; ++i)
      together.push_back(values[steps[i].left]);
    for (const Value fresh : builder.refresh(together)) values.push_back(fresh);
    if (i < steps.size()) values.push_back(result_of(builder, steps[i++], values));
  }
  return values.back();
}

std::vector<Value> build_products(Builder& builder, const Approximation& f, Value v, std::span<const Value> y,
                                  const std::string& what) {
  std::vector<Value> products;
  const int m = divisor(f);
  if (m == 0) {
    const Value out = builder.refresh(build(builder, f, v, what));
    for (const Value each : y) products.push_back(builder.multiply(each, out));
    return products;
  }
  const Builder::Scope scope(builder, f.function());
  check_argument(builder, f, v, what);
  const auto [quotient, remainder] = ckks::divide({*f.series()}, m);
  const Value r = builder.series(v, remainder);
  Value t = v;  // T_m by doubling: as a series its coefficient would cost a level
  for (int k = 1; k < m; k *= 2) {
    const Value square = builder.square(t);
    t = builder.add_constant(builder.add(square, square), -1);
  }
  const Value q = quotient.degree() == 0 ? Value{} : builder.series(v, quotient);
  for (const Value each : y) {
    const Value of_q =
        q.valid() ? builder.multiply(q, each) : builder.multiply_constant(each, quotient.coefficients[0]);
    const std::pair<Value, Value> terms[] = {{r, each}, {t, of_q}};
    products.push_back(builder.sum_of_products(terms));
  }
  return products;
}

int products_depth(const Approximation& f) { return f.depth() + (divisor(f) == 0 ? 1 : 0); }

Value power_of(Builder& builder, Value x, int p) {
  PSM_CHECK(p >= 1, "power ", p);
  std::map<int, Value> made{{1, x}};
  return power_from(builder, made, p);
}

std::vector<Value> encrypted_gelu(Builder& builder, std::span<const Value> half,
                                  const approx::Approximation& gelu, Parts wanted, const std::string& label) {
  Builder::Scope scope(builder, label);
  PSM_CHECK(gelu.input_offset() == 0, gelu.input_offset());
  const std::vector<Value> parts = builder.refresh(separated(builder, half, wanted));
  std::vector<Value> outputs;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Value out = build(builder, gelu, parts[i], "input of " + label);
    if (wanted == Parts::kBoth && i % 2 == 1)
      outputs.back() = builder.add(outputs.back(), builder.times_i(out));
    else
      outputs.push_back(out);
  }
  return builder.refresh(outputs);
}

std::vector<Value> encrypted_swiglu(Builder& builder, std::span<const Value> half,
                                    const approx::Approximation& silu, Parts wanted) {
  PSM_CHECK(half.size() % 2 == 0, half.size(), " halves of gates and up");
  PSM_CHECK(silu.input_offset() == 0, silu.input_offset());
  const size_t count = half.size() / 2;
  std::vector<Value> gates, outputs;
  {
    Builder::Scope scope(builder, "silu");
    gates = builder.refresh(separated(builder, half.first(count), wanted));
    for (Value& gate : gates) gate = build(builder, silu, gate, "input of silu");
    gates = builder.refresh(gates);
  }
  Builder::Scope scope(builder, "gate");
  const std::vector<Value> units = builder.refresh(separated(builder, half.subspan(count), wanted));
  const size_t step = wanted == Parts::kReal ? 1 : 2;
  for (size_t i = 0; i < units.size(); i += step) {
    if (wanted == Parts::kReal) {
      outputs.push_back(builder.multiply(gates[i], units[i]));
      continue;
    }
    const std::pair<Value, Value> products[] = {{gates[i], units[i]},
                                                {gates[i + 1], builder.times_i(units[i + 1])}};
    outputs.push_back(builder.sum_of_products(products));
  }
  return builder.refresh(outputs);
}

}  // namespace psm::nn
