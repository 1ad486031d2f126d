// A run's memory and seconds as the plan has them, compared with what was measured.
//
// Memory, predicted when this is made, before any key exists: what the process holds then (program, model,
// tables of the ring), the keys, and what a run takes at its peak (ckks/program/planning/meter.h). Measured
// is the process's peak.
//
// Seconds are those of a pass of all instructions, predicted from kernels calibrated on this machine
// (ckks/program/planning/calibrate.h). What can be prepared is prepared before: plaintexts that are kept are encoded,
// and the memory of a pass is touched while keys are made or read (ckks/base/touched_memory.h).
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
  // `other_bytes`: what the caller keeps besides keys and run, such as a client's values.
  explicit RunFigures(const PlannedPass& pass, double other_bytes = 0);

  double predicted_bytes() const { return predicted_bytes_; }
  void touched(double seconds) { touch_seconds_ = seconds; }
  void prepared(double seconds) { prepare_seconds_ = seconds; }
  // Every whole pass, in order; not one that began in the middle.
  void add_pass(const program::RunResult& result);
  // Calibrates this machine. After the passes: it works on memory that they have left.
  void predict_seconds();

  // Seconds of the last pass and their prediction.
  void fill(program::Ledger& ledger) const;
  // After predict_seconds(): by instruction, without encoding; of a pass, which encodes what is not kept, and of what
  // is prepared before; and what they follow from.
  const std::vector<double>& predicted_instructions() const { return predicted_; }
  double predicted_pass() const { return predicted_pass_; }
  double predicted_preparation() const { return predicted_preparation_; }
  double prepare_seconds() const { return prepare_seconds_; }
  const program::CostModel& costs() const { return *costs_; }
  std::string caveat() const { return calibration_.caveat(); }
  // Rows of memory, preparation and passes.
  Figures figures() const;

 private:
  const PlannedPass& pass_;
  double held_bytes_, predicted_bytes_;
  double touch_seconds_ = 0, prepare_seconds_ = 0;
  std::vector<double> passes_;                 // seconds
  std::vector<double> last_pass_, predicted_;  // by instruction
  double predicted_pass_ = 0, predicted_preparation_ = 0;
  program::Calibration calibration_;
  std::optional<program::CostModel> costs_;
};

}  // namespace psm::cmd
