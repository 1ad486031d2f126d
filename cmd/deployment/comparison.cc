#include "cmd/deployment/comparison.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

int argmax(std::span<const double> values) {
  return static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin());
}

Comparison compare_logits(std::span<const std::vector<double>> twin,
                          std::span<const std::vector<double>> encrypted, double predicted_std) {
  PSM_CHECK(twin.size() == encrypted.size(), twin.size(), " ", encrypted.size());
  Comparison out;
  double error_squares = 0, squares = 0;
  size_t values = 0;
  for (size_t row = 0; row < twin.size(); ++row) {
    const std::vector<double>&y = twin[row], &z = encrypted[row];
    PSM_CHECK(y.size() == z.size() && y.size() >= 2, y.size(), " ", z.size());
    for (size_t i = 0; i < y.size(); ++i) {
      out.max_abs = std::max(out.max_abs, std::abs(z[i] - y[i]));
      error_squares += (z[i] - y[i]) * (z[i] - y[i]);
      squares += y[i] * y[i];
    }
    values += y.size();
    const int best = argmax(y);
    double second = -INFINITY;
    for (int i = 0; i < static_cast<int>(y.size()); ++i) {
      if (i != best) second = std::max(second, y[i]);
    }
    const bool same = argmax(z) == best;
    ++out.positions;
    out.agree += same;
    // The error of a difference of two logits has sqrt(2) times the deviation of one.
    if (y[best] - second > 4 * std::sqrt(2.0) * predicted_std) {
      ++out.clear_positions;
      out.agree_clear += same;
    }
  }
  if (values > 0) {
    out.mse = error_squares / static_cast<double>(values);
    out.relative_rms = squares > 0 ? std::sqrt(error_squares / squares) : 0;
  }
  return out;
}

std::string Comparison::text(double predicted_std) const {
  const auto count = [](int of, int all) { return std::to_string(of) + " of " + std::to_string(all); };
  return message("  logits against the twin's: relative RMS error 2^",
                 format("%.2f", std::log2(relative_rms)), ", MSE ", format("%.3g", mse), ", max |error| ",
                 format("%.3g", max_abs), " (predicted std ", format("%.3g", predicted_std), ")\n") +
         message("  same argmax: ", count(agree, positions), " positions (", percent(agreement_all()),
                 "); where the twin's two best logits are 4 predicted deviations apart: ",
                 count(agree_clear, clear_positions), "\n");
}

Json Comparison::json() const {
  Json json;
  json["max_abs"] = max_abs;
  json["mse"] = mse;
  json["relative_rms"] = relative_rms;
  json["argmax_agreement"] = agreement();
  json["argmax_agreement_all"] = agreement_all();
  json["positions"] = positions;
  json["clear_positions"] = clear_positions;
  return json;
}

}  // namespace psm::cmd
