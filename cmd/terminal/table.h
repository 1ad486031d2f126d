// Tables for people: aligned columns.
#pragma once

#include <string>
#include <vector>

#include "cmd/terminal/units.h"

namespace psm::cmd {

// Left-aligns the first column and those of words, right-aligns the others; the first row is underlined as a heading.
class Table {
 public:
  // `words`: headings of columns of words.
  explicit Table(std::vector<std::string> heading, const std::vector<std::string>& words = {});
  void row(std::vector<std::string> cells);
  std::string text() const;
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }  // the heading first
  bool left(size_t column) const { return left_[column]; }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

}  // namespace psm::cmd
