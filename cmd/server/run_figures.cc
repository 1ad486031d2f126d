#include "cmd/server/run_figures.h"

#include <algorithm>
#include <numeric>

#include "ckks/base/memory.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// "6.20 s predicted, 6.51 s measured (1.05 of it)"
std::string side_by_side(double predicted, double measured, std::string (*text)(double),
                         const std::string& caveat = {}) {
  return text(predicted) + " predicted" + caveat + ", " + text(measured) + " measured (" +
         format("%.2f", measured / predicted) + " of it)";
}

}  // namespace

RunFigures::RunFigures(const PlannedPass& pass, double other_bytes, bool on_device)
    : pass_(pass),
      held_bytes_(static_cast<double>(current_resident_bytes()) + other_bytes),
      predicted_bytes_(held_bytes_ + static_cast<double>(pass.server_bytes(on_device))) {}

void RunFigures::add_pass(const program::RunResult& result) {
  passes_.push_back(sum(result.seconds));
  last_pass_ = result.seconds;
}

// A tenth of a pass on a nominal machine, but a second at most.
double RunFigures::calibration_seconds() const {
  constexpr double kNominalSlots = 1 << 15;
  return std::clamp(0.1 * pass_.reading.seconds * pass_.context->slots() / kNominalSlots, 0.02, 1.0);
}

void RunFigures::calibrate() {
  const program::Calibration now = program::calibrate(*pass_.context, calibration_seconds());
  calibration_ = calibration_ ? mean(*calibration_, now) : now;
}

const RunFigures::Prediction& RunFigures::predict_seconds() {
  const ckks::Context& context = *pass_.context;
  const program::Plan& plan = pass_.plan;
  Prediction& p = predicted_;
  calibrate();
  p.calibration = *calibration_;
  p.costs.emplace(program::costs_of(context, pass_.bootstraps, p.calibration.kernels));
  p.instructions = program::meter(plan, *p.costs).instruction_seconds;
  p.encoding.resize(p.instructions.size());
  const double encode = program::encode_seconds_per_byte(context, 0.1 * calibration_seconds());
  const std::vector<int> kept = kept_transforms(plan, context.chain(), pass_.reading.encoded_limit);
  for (size_t i = 0; i < kept.size(); ++i) {
    const program::Instruction& instruction = plan.program.instructions[i];
    if (instruction.linear == nullptr || kept[i] >= 0) continue;
    p.encoding[i] =
        encode * program::encoded_bytes(*instruction.linear, context.chain(), plan.argument_level[i]);
    p.instructions[i] += p.encoding[i];
  }
  p.pass = sum(p.instructions);
  p.preparation = encode * pass_.reading.kept_plaintext_bytes();
  return p;
}

void RunFigures::fill(program::Ledger& ledger) const {
  if (!last_pass_.empty()) ledger.set_seconds(last_pass_);
  if (!predicted_.instructions.empty()) ledger.set_predicted_seconds(predicted_.instructions);
}

Figures RunFigures::figures() const {
  const program::MeterReading& reading = pass_.reading;
  const std::string rough = predicted_.calibration.caveat();
  const auto peak = static_cast<double>(peak_resident_bytes());
  Figures figures;
  figures.row()
      .json("calibrated_while_busy", predicted_.calibration.busy)
      .json("calibration_spread", predicted_.calibration.spread)
      .both("memory", "memory",
            Json::Object{{"predicted_bytes", predicted_bytes_},
                         {"measured_bytes", peak},
                         {"key_bytes", reading.key_bytes},
                         {"run_bytes", reading.run_bytes()},
                         {"held_before_bytes", held_bytes_}},
            side_by_side(predicted_bytes_, peak, bytes_text) + ": keys " + bytes_text(reading.key_bytes) +
                ", a run " + bytes_text(reading.run_bytes()) + ", the process before " +
                bytes_text(held_bytes_));
  figures.row().both("preparation", "preparation",
                     Json::Object{{"predicted_seconds", predicted_.preparation},
                                  {"seconds", prepare_seconds_},
                                  {"touch_seconds", touch_seconds_}},
                     "weights that are kept are encoded: " +
                         side_by_side(predicted_.preparation, prepare_seconds_, seconds_text, rough) +
                         (touch_seconds_ > 0 ? "; the memory of a pass is touched beside the keys: " +
                                                   seconds_text(touch_seconds_)
                                             : ""));
  const double mean = sum(passes_) / static_cast<double>(std::max(passes_.size(), size_t{1}));
  figures.row().both("pass", "a pass",
                     Json::Object{{"predicted_seconds", predicted_.pass},
                                  {"seconds", passes_.empty() ? Json() : Json(mean)},
                                  {"first_seconds", passes_.empty() ? Json() : Json(passes_.front())},
                                  {"passes", static_cast<int64_t>(passes_.size())}},
                     passes_.empty()
                         ? seconds_text(predicted_.pass) + " predicted" + rough + "; none was run whole"
                         : side_by_side(predicted_.pass, mean, seconds_text, rough) +
                               (passes_.size() > 1 ? message(", mean of ", passes_.size(), ", the first in ",
                                                             seconds_text(passes_.front()))
                                                   : ""));
  return figures;
}

}  // namespace psm::cmd
