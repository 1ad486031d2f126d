#include "cmd/prompts/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// log of softmax.
std::vector<double> log_softmax(std::span<const double> z) {
  const double largest = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (const double value : z) sum += std::exp(value - largest);
  std::vector<double> out;
  for (const double value : z) out.push_back(value - largest - std::log(sum));
  return out;
}

// Indices of the `count` largest, or of all.
std::vector<int> largest(std::span<const double> values, size_t count) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](int a, int b) { return values[a] > values[b]; });
  order.resize(count);
  return order;
}

}  // namespace

LogitRows scored_rows(const PromptCodec& codec, const std::vector<std::vector<int>>& prompts,
                      const LogitRows& rows) {
  LogitRows scored;
  size_t begin = 0;
  for (const auto& prompt : prompts) {
    for (const int t : codec.scored_positions(static_cast<int>(prompt.size()))) {
      scored.push_back(rows.at(begin + static_cast<size_t>(t)));
    }
    begin += static_cast<size_t>(codec.answers().rows(static_cast<int>(prompt.size())));
  }
  return scored;
}

PositionComparison compare_position(std::span<const double> clear, std::span<const double> decrypted) {
  PSM_CHECK(clear.size() == decrypted.size() && clear.size() >= 2, clear.size(), " ", decrypted.size());
  PositionComparison out;
  for (size_t i = 0; i < clear.size(); ++i) {
    const double error = decrypted[i] - clear[i];
    out.max_abs = std::max(out.max_abs, std::abs(error));
    out.mse += error * error / static_cast<double>(clear.size());
  }
  const std::vector<int> best = largest(clear, 5), found = largest(decrypted, 5);
  out.same = found[0] == best[0];
  out.margin = clear[best[0]] - clear[best[1]];
  for (const int token : best) out.top5 += std::find(found.begin(), found.end(), token) != found.end();
  const std::vector<double> p = log_softmax(clear), q = log_softmax(decrypted);
  for (size_t i = 0; i < p.size(); ++i) out.kl += std::exp(p[i]) * (p[i] - q[i]);
  return out;
}

Comparison compare_logits(std::span<const std::vector<double>> twin,
                          std::span<const std::vector<double>> encrypted, double predicted_std) {
  PSM_CHECK(twin.size() == encrypted.size(), twin.size(), " ", encrypted.size());
  Comparison out;
  double error_squares = 0, squares = 0;
  size_t values = 0;
  for (size_t row = 0; row < twin.size(); ++row) {
    const PositionComparison at = compare_position(twin[row], encrypted[row]);
    const auto count = static_cast<double>(twin[row].size());
    out.max_abs = std::max(out.max_abs, at.max_abs);
    error_squares += at.mse * count;
    for (const double y : twin[row]) squares += y * y;
    values += twin[row].size();
    ++out.positions;
    out.kl += at.kl / static_cast<double>(twin.size());
    out.agree += at.same;
    // The error of a difference of two logits has sqrt(2) times the deviation of one.
    if (at.margin > 4 * std::sqrt(2.0) * predicted_std) {
      ++out.clear_positions;
      out.agree_clear += at.same;
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
                 format("%.3g", max_abs), " (predicted std ", format("%.3g", predicted_std), "), mean KL ",
                 format("%.2g", kl), "\n") +
         message("  same argmax: ", count(agree, positions), " positions (", percent(agreement_all()),
                 "); where the twin's two best logits are 4 predicted deviations apart: ",
                 count(agree_clear, clear_positions), "\n");
}

Json Comparison::json() const {
  Json json;
  json["max_abs"] = max_abs;
  json["mse"] = mse;
  json["kl_mean"] = kl;
  json["relative_rms"] = relative_rms;
  json["argmax_agreement"] = agreement();
  json["argmax_agreement_all"] = agreement_all();
  json["positions"] = positions;
  json["clear_positions"] = clear_positions;
  return json;
}

}  // namespace psm::cmd
