// Tables and figures for people: aligned columns, bytes and seconds with units.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ckks/base/progress.h"

namespace psm::cmd {

// Left-aligns the first column, right-aligns the others; the first row is underlined as a heading.
class Table {
 public:
  explicit Table(std::vector<std::string> heading);
  void row(std::vector<std::string> cells);
  // Each line starts with `indent` spaces. On a terminal of fewer columns than the table takes, each row is lines of
  // "heading: cell".
  std::string text(int indent = 2) const { return text(indent, terminal_columns(STDOUT_FILENO)); }
  std::string text(int indent, std::optional<size_t> columns) const;
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }  // the heading first

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string format(const char* pattern, double value);  // printf pattern with one double
std::string percent(double fraction);                   // "97.3%"
std::string counted(size_t count,
                    const char* noun);         // "1 prompt", "16 prompts"; of nouns with a regular plural
std::string range_text(double lo, double hi);  // "[0.2, 125]"
std::string power_of_two_text(double value);   // "2^-12.5"; "0" of what is not positive
std::string bytes_text(double bytes);          // "5.87 GB" (10^9)
std::string seconds_text(double seconds);      // "43 ms", "1.24 s", "3 min 20 s"

}  // namespace psm::cmd
