// Figures that are described once, in rows, for three outputs: a table for people, JSON for machines, HTML
// for pages (html.h).
//
//     Figures figures;
//     figures.row().both("levels", "levels", total).json("lo", x.lo).cell("interval", interval_text(x));
//
// Rows may lack members and cells that others have. Not thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

// Names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

class Figures {
 public:
  class Row {
   public:
    // A member of the row's object.
    Row& json(const std::string& key, Json value) {
      object_[key] = std::move(value);
      return *this;
    }
    // The cell in the column of this heading. Repeated headings mean the first, the second .. such column.
    Row& cell(const std::string& heading, std::string text) {
      cells_.emplace_back(heading, std::move(text));
      return *this;
    }
    // Both. People see the text, or the value itself.
    Row& both(const std::string& key, const std::string& heading, const Json& value) {
      return both(key, heading, value, value.is_string() ? value.string(key) : value.dump(0));
    }
    Row& both(const std::string& key, const std::string& heading, const Json& value, std::string text) {
      return json(key, value).cell(heading, std::move(text));
    }
    // Both. People see the number by a pattern of printf, or by a function. Null and an empty cell if there
    // is no number.
    Row& number(const std::string& key, const std::string& heading, std::optional<double> value,
                const char* pattern) {
      return number(key, heading, value, [pattern](double x) { return format(pattern, x); });
    }
    Row& number(const std::string& key, const std::string& heading, std::optional<double> value,
                const std::function<std::string(double)>& text) {
      return both(key, heading, value ? Json(*value) : Json(), value ? text(*value) : "");
    }
    const Json& object() const { return object_; }
    const Facts& facts() const { return cells_; }

   private:
    friend class Figures;
    Json object_ = Json(Json::Object{});
    Facts cells_;
  };

  // `words`: headings of columns of words, which are left-aligned.
  explicit Figures(std::vector<std::string> words = {}) : words_(std::move(words)) {}

  // The reference stays valid while these figures live.
  Row& row() { return rows_.emplace_back(); }
  bool empty() const { return rows_.empty(); }
  const Row& front() const { return rows_.front(); }
  const Row& back() const { return rows_.back(); }

  // Columns in the order of their first use, without those that are empty in all rows.
  Table table() const;
  // Every cell after its heading, for figures of few rows. lines() has each on a line of its own.
  Facts facts() const;
  std::string lines() const;
  // An array of objects, one for each row; or one object with the members of all rows.
  Json json() const;
  Json object() const;

 private:
  std::vector<std::string> words_;
  std::deque<Row> rows_;
};

}  // namespace psm::cmd
