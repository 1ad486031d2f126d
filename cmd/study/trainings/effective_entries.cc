#include "cmd/study/trainings/effective_entries.h"

#include <numeric>
#include <vector>

#include "attention/batched/batched_model.h"
#include "attention/rows/row_weights.h"
#include "ckks/base/error.h"

namespace psm::cmd {

double effective_entries(const attention::ModelWeights& weights, const train::Batch& batch) {
  const attention::ModelConfig& config = weights.config;
  PSM_CHECK(!config.causal, "rows of a causal model have all lengths");
  const auto length = static_cast<size_t>(batch.length), rows = config.heads * length;
  const attention::Examples examples = batch.examples();
  struct Sum {
    double shares = 0;
    size_t rows = 0;
  };
  std::vector<Sum> sums(examples.size());  // added in the examples' order
  attention::BatchedModel(weights).run(
      examples, {.keep_scores = true}, [&](const attention::BatchedPart& part) {
        std::vector<float> row(length);
        for (size_t i = 0; i < part.examples.size(); ++i)
          for (size_t n = 0; n < static_cast<size_t>(config.layers); ++n)
            for (size_t r = 0; r < rows; ++r) {
              attention::row_weights(config, part.out.scores[n].row(static_cast<int>(i * rows + r)),
                                     static_cast<int>(length), row.data());
              const double sum = std::accumulate(row.begin(), row.end(), 0.0),
                           squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
              if (!(squares > 0)) continue;
              Sum& of_example = sums[part.examples[i]];
              of_example.shares += sum * sum / (squares * static_cast<double>(length));
              ++of_example.rows;
            }
      });
  Sum total;
  for (const Sum& sum : sums) total.shares += sum.shares, total.rows += sum.rows;
  return total.shares / static_cast<double>(total.rows);
}

}  // namespace psm::cmd
