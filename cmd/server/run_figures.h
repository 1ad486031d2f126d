// A run's memory and seconds: predicted by the plan, and measured.
//
// Memory is predicted at construction, before any key exists: the process's memory then (program, model, tables of the
// ring), the keys, and a run's peak (ckks/program/planning/meter.h). Measured is the process's peak.
//
// Seconds are those of a pass of all instructions, predicted from kernels calibrated on this machine
// (ckks/program/planning/calibrate.h). Preparation comes before: the kept plaintexts are encoded, and the
// memory of a pass is touched while keys are made or read (ckks/base/touched_memory.h).
#pragma once

#include <optional>
#include <vector>

#include "ckks/program/errors/ledger.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/planning/calibrate.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

class RunFigures {
 public:
  // `other_bytes`: the caller's memory besides keys and run, such as a client's values. A device has the run's.
  explicit RunFigures(const PlannedPass& pass, double other_bytes = 0, bool on_device = false);

  double predicted_bytes() const { return predicted_bytes_; }
  void touched(double seconds) { touch_seconds_ = seconds; }
  void prepared(double seconds) { prepare_seconds_ = seconds; }
  // Call it for every whole pass, in order, but not for one that began in the middle.
  void add_pass(const program::RunResult& result);
  struct Prediction {
    program::Calibration calibration;
    std::optional<program::CostModel> costs;
    std::vector<double> instructions;  // seconds of each
    std::vector<double> encoding;      // part of them, of plaintexts that are not kept
    double pass = 0, preparation = 0;
  };
  // Times this machine's kernels. A pass lasts, and other programs take more or less of the memory's speed
  // meanwhile: call it before the passes.
  void calibrate();
  // Calibrates, and predicts from the mean of this and a calibration before. Call it after the passes, whose memory it
  // uses.
  const Prediction& predict_seconds();

  // Seconds of the last pass and their prediction.
  void fill(program::Ledger& ledger) const;
  // Rows of memory, preparation and passes.
  Figures figures() const;

 private:
  double calibration_seconds() const;

  const PlannedPass& pass_;
  double held_bytes_, predicted_bytes_;
  double touch_seconds_ = 0, prepare_seconds_ = 0;
  std::vector<double> passes_;     // seconds
  std::vector<double> last_pass_;  // by instruction
  std::optional<program::Calibration> calibration_;
  Prediction predicted_;
};

}  // namespace psm::cmd
