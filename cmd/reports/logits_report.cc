#include "cmd/reports/logits_report.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "attention/batched/batched_model.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

// Returns a list of rows for each example. `form` of the model is for people.
std::vector<Json> rows_of(const char* form, const attention::BatchedModel& model,
                          const attention::Examples& examples) {
  std::vector<Json> all(examples.size());
  model.run(examples, {}, [&](const attention::BatchedPart& part) {
    const nn::Tensor<float>& logits = part.out.logits;
    for (size_t i = 0; i < part.examples.size(); ++i) {
      const int length = model.config().outputs(part.lengths[i]);
      const int first = static_cast<int>(i) * model.config().outputs(part.length);
      Json rows = Json::Array{};
      for (int t = 0; t < length; ++t) {
        const float* row = logits.row(first + t);
        const std::span<const float> z(row, static_cast<size_t>(logits.columns));
        // A norm whose sum of squares overflows leaves zeros.
        if (!std::ranges::all_of(z, [](float v) { return std::isfinite(v); }) ||
            std::ranges::all_of(z, [](float v) { return v == 0; }))
          throw Error(message("the ", form, "'s logits for input ", part.examples[i],
                              " are not finite or all zero, so it computes nothing; mend its weights, or "
                              "keep the input in its "
                              "ranges"),
                      Error::Kind::kFailed);
        Json values = Json::Array{};
        for (int c = 0; c < logits.columns; ++c) values.push_back(static_cast<double>(row[c]));
        rows.push_back(std::move(values));
      }
      all[part.examples[i]] = std::move(rows);
    }
  });
  return all;
}

}  // namespace

Json logits_json(const attention::Checkpoint& checkpoint, const attention::Examples& examples) {
  std::vector<Json> trained = rows_of("model", attention::BatchedModel(checkpoint.weights), examples),
                    polynomial;
  if (checkpoint.ranges && checkpoint.polynomial) {
    const attention::PolynomialModel model =
        attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
    polynomial =
        rows_of("polynomial form",
                attention::BatchedModel(model.weights, attention::polynomial_functions(model)), examples);
  }
  Json json;
  json["examples"] = Json::Array{};
  for (size_t i = 0; i < examples.size(); ++i) {
    Json example;
    if (!examples.texts.empty()) {
      example["tokens"] = Json::Array{};
      for (const int token : examples.texts[i]) example["tokens"].push_back(token);
    }
    example["trained"] = std::move(trained[i]);
    if (!polynomial.empty()) example["polynomial"] = std::move(polynomial[i]);
    json["examples"].push_back(std::move(example));
  }
  return json;
}

}  // namespace psm::cmd
