#include "attention/reference/polynomial_weights.h"

#include <algorithm>
#include <cmath>

#include "attention/trained/power_softmax.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

using Row = std::vector<double>;

// Rows of lengths up to `context` with scores in [-bound, bound]: drawn, all equal, and one score far above
// the rest.
std::vector<Row> rows_within(double bound, int context) {
  TrainingRandom random(7);
  std::vector<Row> rows;
  for (int length : {1, 2, 3, context / 2 + 1, context}) {
    if (length > context) continue;
    for (int draw = 0; draw < 20; ++draw) {
      Row row(static_cast<size_t>(length));
      for (double& x : row) x = std::clamp(0.5 * bound * random.normal(), -bound, bound);
      rows.push_back(row);
    }
    for (double level : {-bound, 0.0, bound}) rows.emplace_back(length, level);
    Row peak(static_cast<size_t>(length), -bound);
    peak.back() = bound;
    rows.push_back(peak);
  }
  return rows;
}

double worst_error(const ModelConfig& config, const PolynomialRow& polynomial, const std::vector<Row>& rows) {
  double worst = 0;
  for (const Row& scores : rows) {
    Row exact(scores.size()), approximate = scores;
    row_weights(config, scores.data(), static_cast<int>(scores.size()), exact.data());
    polynomial.evaluate(approximate);
    for (size_t j = 0; j < scores.size(); ++j) {
      const double scale = polynomial.error_kind == approx::ErrorKind::kRelative ? exact[j] : 1;
      if (scale == 0) continue;
      const double error = std::abs(approximate[j] - exact[j]) / scale;
      worst = worse(worst, error);
    }
  }
  return worst;
}

TEST_CASE("the replacement of softmax is within its bound of it, for rows of every length") {
  const ModelConfig softmax{.attention = AttentionKind::kSoftmax};
  for (double bound : {0.5, 4.0, 10.0})
    for (int context : {1, 64})
      for (double error : {0x1p-6, 0x1p-12}) {
        CAPTURE(bound);
        CAPTURE(context);
        CAPTURE(error);
        const PolynomialRow polynomial = normalise_square_softmax(bound, context, error);
        CHECK(polynomial.error_bound <= error);
        const double worst = worst_error(softmax, polynomial, rows_within(bound, context));
        CHECK(worst <= polynomial.error_bound);
        if (context > 1) CHECK(worst > 0);
      }
}

TEST_CASE("every approximation within the replacement of softmax stays on its interval") {
  const PolynomialRow square = normalise_square_softmax(6, 32, 0x1p-8);
  for (Row row : rows_within(6, 32)) {
    const double fold = std::ldexp(1.0, static_cast<int>(square.parts.size()) - 1);
    for (double& x : row) {
      CHECK(square.parts[0].domain().contains((x - 6) / fold));
      x = square.parts[0].evaluate((x - 6) / fold);
    }
    for (size_t round = 1; round < square.parts.size(); ++round) {
      double sum = 0;
      for (double y : row) sum += y * y;
      CHECK(square.parts[round].domain().contains(sum));
      const bool last = round + 1 == square.parts.size();
      const double scale =
          square.parts[round].evaluate(sum) / (last ? 1 : 1 + square.parts[round].error_bound());
      for (double& y : row) {
        y = (y * scale) * (y * scale);
        if (!last) CHECK(y <= 1);  // it may be refreshed
      }
    }
  }
}

TEST_CASE("scores beyond the bound break the replacement of softmax") {
  const ModelConfig softmax{.attention = AttentionKind::kSoftmax};
  const std::vector<Row> rows = {{-20, 0, 20}};
  const PolynomialRow polynomial = normalise_square_softmax(2, 8, 0x1p-8);
  CHECK(!(worst_error(softmax, polynomial, rows) <= polynomial.error_bound));
}

TEST_CASE("PowerSoftmax as a polynomial is within the division's error, for every even power") {
  const std::vector<Row> rows = rows_within(1.2, 24);
  for (int power = 2; power <= 16; power += 2) {
    CAPTURE(power);
    const ModelConfig config{.power = power, .epsilon = 0.25};
    approx::Interval seen{1e300, 0};
    for (const Row& row : rows) {
      const double mean = length_agnostic_denominator(config, row.data(), static_cast<int>(row.size()));
      seen = approx::hull(seen, {mean, mean});
    }
    const PolynomialRow polynomial =
        power_softmax_polynomial(config, {0.99 * seen.lo, 1.01 * seen.hi}, 0x1p-10);
    CHECK(polynomial.error_bound <= 0x1p-10);
    const double worst = worst_error(config, polynomial, rows);
    CHECK(worst <= polynomial.error_bound + 1e-12);
    CHECK(worst > 0);
  }
  for (PowerForm form : {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable})
    CHECK_REFUSED(power_softmax_polynomial({.form = form}, {0.1, 1}, 0.1), "is no polynomial");
}

TEST_CASE("scaled ReLU as a polynomial is within its bound and takes the levels of |x|") {
  const ModelConfig relu{.attention = AttentionKind::kScaledRelu};
  const PolynomialRow polynomial = scaled_relu_polynomial(5, 0.02);
  const double worst = worst_error(relu, polynomial, rows_within(5, 16));
  CHECK(worst <= polynomial.error_bound);
  CHECK(worst > 0.1 * polynomial.error_bound);
  CHECK(polynomial.error_bound <= 0.02);
  CHECK(polynomial.levels == polynomial.parts[0].depth());
}

TEST_CASE("numbers of rounds that leave an inverse root no interval are passed over") {
  CHECK(normalise_square_softmax(8, 128, 0x1p-8).error_bound <= 0x1p-8);
}

TEST_CASE("ranges and errors that make no sense are refused") {
  CHECK_THROWS_AS(normalise_square_softmax(0, 8, 0.1), Error);
  CHECK_THROWS_AS(normalise_square_softmax(std::nan(""), 8, 0.1), Error);
  CHECK_THROWS_AS(normalise_square_softmax(1, 8, 0), Error);
  CHECK_REFUSED(normalise_square_softmax(1e9, 8, 0.1), "smaller scores");
}

TEST_CASE(
    "the paper's division has 21 iterations whatever the error, the relaxed one as few levels as the error "
    "asks for") {
  const ModelConfig config{.form = PowerForm::kLengthAgnostic, .power = 4, .epsilon = 1e-3};
  const approx::Interval denominators{1e-3, 8};
  const PolynomialRow relaxed = power_softmax_polynomial(config, denominators, 0x1p-8),
                      paper =
                          power_softmax_polynomial(config, denominators, 0x1p-8, DivisionForm::kGoldschmidt);
  CHECK(relaxed.error_bound <= 0x1p-8);
  CHECK(paper.parts[0].depth() == 22);
  CHECK(paper.levels - relaxed.levels == 22 - relaxed.parts[0].depth());
  CHECK(relaxed.levels < paper.levels - 10);
  CHECK(paper.error_bound < relaxed.error_bound);
  for (DivisionForm form : {DivisionForm::kRelaxed, DivisionForm::kGoldschmidt})
    CHECK(named<DivisionForm>(name_of(form)) == form);
  CHECK_THROWS_AS(named<DivisionForm>("newton"), Error);
}

}  // namespace
}  // namespace psm::attention
