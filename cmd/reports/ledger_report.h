// The instructions of a plan with their figures (ckks/program/errors/ledger.h), as a table, for machines, and
// as sections of a page. Unknown columns are left out: a server knows no ranges and no errors.
//
// --ledger FILE writes all of it for machines (.json) or for people (.html). The page needs no other files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ckks/program/errors/ledger.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

constexpr size_t kMostListed = 8;  // of a list in a cell

// Figures of these rows of the ledger.
Figures row_figures(const program::Ledger&, std::span<const program::LedgerRow>);
// Sums by `what`: block or operation.
Figures sum_figures(const std::vector<program::LedgerSummary>&, const char* what);
// The sections of a page.
std::string ledger_html(const program::Ledger&);

struct LedgerReport {
  std::string title;
  Figures figures;  // lines above the charts, members of the file's object
  const program::Ledger& ledger;
};

std::string ledger_page(const LedgerReport& report);
Json ledger_json(const LedgerReport& report);

struct LedgerFlag {
  // Once the flags are read, throws Error for another kind of file.
  explicit LedgerFlag(Command& flags);
  bool given() const { return !path.empty(); }
  // Writes the file if the flag was given.
  void write(const LedgerReport& report) const;

  const std::string& path;
};

}  // namespace psm::cmd
