// A report of how a program would run on several ranks (ckks/program/ranks/schedule.h), predicted: for 1 to 64 of them,
// and for each rank of a chosen number. The page has a drawing with a lane for each rank.
#pragma once

#include <string>

#include "ckks/program/ranks/schedule.h"
#include "cmd/reports/program_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// --ranks and --link. Nothing is reported unless --ranks is given.
struct RanksFlags {
  explicit RanksFlags(Command& flags);
  bool given() const { return ranks > 0; }

  const int64_t& ranks;
  const std::string& network;
};

// Empty unless --ranks is given.
struct RanksReport {
  // `measured`: whether to time this machine with one and with two threads. Then ranks of 2 and of 16 cores are
  // predicted, else those of the program's machine.
  RanksReport(const ShownProgram& shown, const RanksFlags& flags, bool measured);

  std::string text, html;
  Json json = Json(Json::Object{});
};

}  // namespace psm::cmd
