// Figures that are said once: rows of them as a table for people and as JSON for machines.
//
//     Figures figures;
//     figures.row().both("levels", "levels", total).json("lo", x.lo).cell("interval", interval_text(x));
//
// Rows may lack members and cells that others have. Not thread-safe.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

class Figures {
 public:
  class Row {
   public:
    // A member of the row's object.
    Row& json(const std::string& key, Json value) {
      object_[key] = std::move(value);
      return *this;
    }
    // What stands in the column of this heading; of several with one heading in the first, the second ..
    Row& cell(const std::string& heading, std::string text) {
      cells_.emplace_back(heading, std::move(text));
      return *this;
    }
    // Both; people see a text, or a whole number.
    Row& both(const std::string& key, const std::string& heading, const Json& value) {
      return json(key, value).cell(heading, value.is_string() ? value.string(key) : value.dump(0));
    }
    // Both; people see the number by a pattern of printf.
    Row& number(const std::string& key, const std::string& heading, double value, const char* pattern) {
      return json(key, value).cell(heading, format(pattern, value));
    }
    const Json& object() const { return object_; }

   private:
    friend class Figures;
    Json object_ = Json(Json::Object{});
    std::vector<std::pair<std::string, std::string>> cells_;
  };

  // The reference stays valid while these figures live.
  Row& row() { return rows_.emplace_back(); }

  // Columns in the order in which rows brought them, without those that are empty in all rows.
  Table table() const;
  // Every cell on a line of its own behind its heading: for figures of one row.
  std::string lines() const;
  // An array of objects.
  Json json() const;

 private:
  std::deque<Row> rows_;
};

}  // namespace psm::cmd
