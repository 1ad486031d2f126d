// A run's memory and seconds as the plan has them, compared with what was measured.
//
// Memory, predicted when this is made, before any key exists: what the process holds then (program, model,
// tables of the ring), the keys, and what a run takes at its peak (ckks/program/planning/meter.h). Measured
// is the process's peak.
//
// Seconds are those of a pass of all instructions. A warm pass finds its plaintexts encoded and its memory
// touched, and is predicted from kernels calibrated on this machine (ckks/program/planning/calibrate.h); a
// first pass also encodes its plaintexts. The memory that it is the first to use is touched while keys are
// made or read (ckks/base/touched_memory.h), and costs it nothing.
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
  // Every whole pass, in order; not one that began in the middle.
  void add_pass(const program::RunResult& result);
  // Calibrates this machine. After the passes: it works on memory that they have left.
  void predict_seconds();

  // Seconds of the last pass and their prediction.
  void fill(program::Ledger& ledger) const;
  // After predict_seconds(): by instruction, without encoding; of a warm and of a first pass, with it; and
  // what they follow from.
  const std::vector<double>& predicted_instructions() const { return predicted_; }
  double predicted_warm() const { return predicted_warm_; }
  double predicted_first() const { return predicted_warm_ + predicted_encoding_; }
  const program::CostModel& costs() const { return *costs_; }
  const char* caveat() const { return calibration_.caveat(); }
  // Rows of memory, the first pass and the later ones.
  Figures figures() const;

 private:
  double measured_warm() const;  // mean of all passes but the first; 0 if there was one only

  const PlannedPass& pass_;
  double held_bytes_, predicted_bytes_;
  double touch_seconds_ = 0;
  std::vector<double> passes_;                 // seconds
  double encode_seconds_ = 0;                  // of the first pass
  std::vector<double> last_pass_, predicted_;  // by instruction
  double predicted_warm_ = 0, predicted_encoding_ = 0;
  program::Calibration calibration_;
  std::optional<program::CostModel> costs_;
};

}  // namespace psm::cmd
