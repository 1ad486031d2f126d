// JSON (RFC 8259): a value and its writer. json_parser.h reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace psm {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order in which members were added

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(int value) : value_(static_cast<int64_t>(value)) {}
  Json(int64_t value) : value_(value) {}
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }

  // Each throws Error naming `what` if the value is of another kind or, for integers, outside [lo, hi].
  const Object& object(std::string_view what) const;
  const Array& array(std::string_view what) const;
  const std::string& string(std::string_view what) const;
  double number(std::string_view what) const;  // finite
  int64_t integer(std::string_view what, int64_t lo, int64_t hi) const;
  bool truth(std::string_view what) const;

  // Member of an object; at() throws Error if it is missing, find() returns null.
  const Json& at(std::string_view key, std::string_view what) const;
  const Json* find(std::string_view key) const;

  // Adds or replaces a member; a null value becomes an object first.
  Json& operator[](std::string_view key);
  void push_back(Json value);  // a null value becomes an array first

  // Writes numbers with just enough digits to restore the same double, and NaN and infinities as null. Bytes
  // of a string that are not UTF-8 become U+FFFD.
  std::string dump(int indent = 2) const;

 private:
  void dump_to(std::string& out, int indent, int depth) const;
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace psm
