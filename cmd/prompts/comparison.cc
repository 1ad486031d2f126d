#include "cmd/prompts/comparison.h"

#include <algorithm>
#include <functional>
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
  std::vector<double> sorted(clear.begin(), clear.end());
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater());
  out.margin = sorted[0] - sorted[1];
  out.same = argmax(clear) == argmax(decrypted);
  out.cosine = cosine(clear, decrypted);
  const std::vector<double> p = log_softmax(clear), q = log_softmax(decrypted);
  for (size_t i = 0; i < p.size(); ++i) out.kl += std::exp(p[i]) * (p[i] - q[i]);
  return out;
}

void Comparison::add(const PositionComparison& at, std::span<const double> clear, double predicted_std) {
  ++positions, agree += at.same;
  if (at.clear(predicted_std)) ++clear_positions, agree_clear += at.same;
  max_abs = std::max(max_abs, at.max_abs);
  least_cosine = std::min(least_cosine, at.cosine);
  const auto add_to = [&](double& mean, double value) { mean += (value - mean) / positions; };
  add_to(mse, at.mse), add_to(kl, at.kl);
  add_to(squares, std::inner_product(clear.begin(), clear.end(), clear.begin(), 0.0) /
                      static_cast<double>(clear.size()));
}

Comparison compare_logits(std::span<const std::vector<double>> twin,
                          std::span<const std::vector<double>> encrypted, double predicted_std) {
  PSM_CHECK(twin.size() == encrypted.size(), twin.size(), " ", encrypted.size());
  Comparison out;
  for (size_t row = 0; row < twin.size(); ++row)
    out.add(compare_position(twin[row], encrypted[row]), twin[row], predicted_std);
  return out;
}

std::string Comparison::text(double predicted_std) const {
  const auto count = [](int of, int all) { return std::to_string(of) + " of " + std::to_string(all); };
  return message("  logits against the twin's: relative RMS error 2^",
                 format("%.2f", std::log2(relative_rms())), ", MSE ", format("%.3g", mse), ", max |error| ",
                 format("%.3g", max_abs), " (predicted std ", format("%.3g", predicted_std), "), mean KL ",
                 format("%.2g", kl), ", least cosine ", format("%.6f", least_cosine), "\n") +
         message("  same argmax: ", count(agree, positions), " positions (", percent(agreement_all()),
                 "); where the twin's two best logits are 4 predicted deviations apart: ",
                 count(agree_clear, clear_positions), "\n");
}

Json Comparison::json() const {
  return Json::Object{{"max_abs", max_abs},
                      {"mse", mse},
                      {"kl_mean", kl},
                      {"relative_rms", relative_rms()},
                      {"least_cosine", least_cosine},
                      {"argmax_agreement", agreement()},
                      {"argmax_agreement_all", agreement_all()},
                      {"positions", positions},
                      {"clear_positions", clear_positions}};
}

}  // namespace psm::cmd
