#include "cmd/prompts/logits.h"

#include <cmath>

#include "ckks/base/error.h"

namespace psm::cmd {

void append_logits(const attention::ClientModel& model, const attention::SlotVectors& outputs,
                   const attention::Examples& examples, LogitRows& rows) {
  const int count = model.config.logit_count();
  for (const auto& logits : attention::client_logits(model, outputs, examples)) {
    PSM_CHECK(logits.size() % static_cast<size_t>(count) == 0, logits.size(), " ", count);
    for (auto at = logits.begin(); at != logits.end(); at += count) rows.emplace_back(at, at + count);
  }
}

double rms_difference(const LogitRows& some, const LogitRows& all) {
  double squares = 0;
  size_t count = 0;
  for (size_t row = 0; row < some.size(); ++row) {
    for (size_t i = 0; i < some[row].size(); ++i, ++count) {
      squares += (some[row][i] - all[row][i]) * (some[row][i] - all[row][i]);
    }
  }
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

}  // namespace psm::cmd
