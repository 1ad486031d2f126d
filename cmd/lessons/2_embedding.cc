// Lesson 2. The canonical embedding: why slots are complex, why there are N/2 of them,
// and what the ring's operations do to them. In doubles; nothing is encrypted.
#include "2_embedding.h"  // the function to write: of exercises/, or of solutions/

#include <algorithm>

#include "ckks/base/random/training_random.h"
#include "ckks/scheme/encoding/embedding.h"

using namespace psm::lesson;

constexpr size_t kN = 8;

// a(zeta^exponent), zeta = exp(i pi / N).
std::complex<double> value_at(const Real& a, size_t exponent) {
  const std::complex<double> x = std::polar(1.0, M_PI * exponent / kN);
  std::complex<double> value = 0;
  for (size_t k = kN; k-- > 0;) value = value * x + a[k];
  return value;
}

// Slot j is the value at zeta^(5^j).
Slots slots_of(const Real& a) {
  Slots z;
  for (size_t g = 1; z.size() < kN / 2; g = 5 * g % (2 * kN)) z.push_back(value_at(a, g));
  return z;
}

// X -> X^g; X^N = -1.
Real substitute(const Real& a, size_t g) {
  Real b(kN);
  for (size_t k = 0; k < kN; ++k) {
    const size_t place = k * g % (2 * kN);
    b[place % kN] = place < kN ? a[k] : -a[k];
  }
  return b;
}

Real product(const Real& a, const Real& b) {
  Real c(kN);
  for (size_t i = 0; i < kN; ++i)
    for (size_t j = 0; j < kN; ++j)
      c[(i + j) % kN] += i + j < kN ? a[i] * b[j] : -a[i] * b[j];
  return c;
}

bool near(const Slots& a, const Slots& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](auto x, auto y) { return std::abs(x - y) < 1e-12; });
}

int main() {
  title("Lesson 2: the canonical embedding");
  say("INSECURE: N = 8 fits on a board, and nothing is encrypted.");
  const Real a{1, 2, 0, 3, 0, 0, 4, 0}, b{5, 0, 6, 0, 0, 7, 0, 8};
  section(
      "A real polynomial at all roots of X^8 + 1",
      "Roots are conjugate in pairs, and so are the values: half of them are enough.");
  for (size_t exponent = 1; exponent < 16; exponent += 2)
    line("a(zeta^" + std::to_string(exponent) + ")", value_at(a, exponent));
  row("slots of a: exponents 1, 5, 9, 13", slots_of(a), 15);
  section("From four complex numbers to eight real coefficients",
          "The coefficients have these slots, and are the library's.");
  const Slots z{{0.5, -0.25}, {-1, 0.75}, {0, 1}, {0.125, 0}};
  Real library(8);
  Embedding(2).coefficients_of_slots(z, library.data());
  row("z", z, 15);
  row("coefficients by the library", library, 8);
  with_exercise([&] {
    const Real yours = coefficients_of(z);
    row("your coefficients", yours, 8);
    line("their slots are z", near(slots_of(yours), z));
  });
  section("What the ring does to slots",
          "Products go slot by slot; substitutions rotate and conjugate; X^4 is i.");
  Slots products = slots_of(a), turned = products, conjugates = products, by_i = products;
  for (size_t j = 0; j < 4; ++j) products[j] *= slots_of(b)[j];
  std::rotate(turned.begin(), turned.begin() + 1, turned.end());
  for (auto& value : conjugates) value = std::conj(value);
  for (auto& value : by_i) value *= std::complex<double>(0, 1);
  line("a b: slot times slot", near(slots_of(product(a, b)), products));
  line("X -> X^5: rotated by one slot", near(slots_of(substitute(a, 5)), turned));
  line("X -> X^15: conjugated", near(slots_of(substitute(a, 15)), conjugates));
  const Real x4{0, 0, 0, 0, 1, 0, 0, 0};
  line("times X^4: times i", near(slots_of(product(a, x4)), by_i));
  section("Rounding: scale 2^20, N = 8192",
          "Whole coefficients cost sqrt(N / 12) / scale in a slot, as predicted.");
  const Embedding large(12);
  TrainingRandom random(1);
  Slots values(4096), got(4096);
  for (auto& value : values) value = {random.uniform(-1, 1), random.uniform(-1, 1)};
  Real rounded(8192);
  large.coefficients_of_slots(values, rounded.data());
  for (double& c : rounded) c = std::round(c * 0x1p20) / 0x1p20;
  large.slots_of_coefficients(rounded.data(), got);
  double sum = 0;
  for (size_t j = 0; j < 4096; ++j) sum += std::norm(got[j] - values[j]) / 4096;
  line("error, predicted", bits(std::sqrt(sum)), bits(std::sqrt(8192 / 12.0) / 0x1p20));
}
