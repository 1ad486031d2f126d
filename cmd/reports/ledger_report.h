// --ledger FILE: every row of a run's ledger (ckks/program/errors/ledger.h) as one file, for machines (.json)
// or for people (.html).
//
// The page needs no other files: seconds, the bootstraps' share of them and memory on top; then level,
// ciphertexts in memory, error, range and seconds along the program as inline SVG, with the bootstraps marked;
// the costliest instructions; sums by block and by operation; all rows. Columns that nobody knows are left out: a
// server knows no ranges and no errors.
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"
#include "ckks/program/errors/ledger.h"

namespace psm::cmd {

struct LedgerReport {
  std::string title;
  std::vector<std::string> facts;  // lines above the charts
  Json figures;                    // the same for machines, members of the file's object
  const program::Ledger& ledger;
};

// A line for each block, on a narrow terminal several.
std::string blocks_text(const program::Ledger&);
std::string ledger_page(const LedgerReport& report);
Json ledger_json(const LedgerReport& report);

struct LedgerFlag {
  explicit LedgerFlag(Flags& flags);
  bool given() const { return !path.empty(); }
  // After parse(): throws Error for another kind of file.
  void apply() const;
  // Writes the file if the flag was given.
  void write(const LedgerReport& report) const;

  const std::string& path;
};

}  // namespace psm::cmd
