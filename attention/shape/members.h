// What a checkpoint keeps of a model as JSON, read and written by one description: describe(members, value) names the
// members of a struct. An interval is an array of its two ends, an enumeration its name (config.h). Doubles come back
// bit by bit.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "attention/shape/config.h"
#include "ckks/base/error.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

// The struct, or the struct const: what is read into, and what is written.
template <typename Value, typename Struct>
concept Either = std::is_same_v<std::remove_const_t<Value>, Struct>;

template <typename Value>
Json to_json(const Value& value);
// Throws psm::Error that begins with `what` on members that are missing or malformed.
template <typename Value>
void from_json(const Json& json, const std::string& what, Value& value);

struct WrittenMembers {
  Json json = Json::Object{};

  template <typename Value>
  void operator()(const char* key, const Value& value) {
    json[key] = to_json(value);
  }
  void optional(const char* key, const std::optional<double>& value) {
    if (value) json[key] = *value;
  }
  template <typename Value>
  void or_zero(const char* key, Value value) {
    if (value != 0) json[key] = value;
  }
};

struct ReadMembers {
  const Json& json;
  const std::string& what;

  template <typename Value>
  void operator()(const char* key, Value& value) const {
    from_json(json.at(key, what), message(what, ", ", key), value);
  }
  void optional(const char* key, std::optional<double>& value) const {
    if (const Json* member = json.find(key)) value = member->number(message(what, ", ", key));
  }
  template <typename Value>
  void or_zero(const char* key, Value& value) const {
    if (json.find(key) != nullptr) (*this)(key, value);
  }
};

template <typename Value>
Json to_json(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return value;
  } else if constexpr (requires { value.lo; }) {
    return Json::Array{value.lo, value.hi};
  } else if constexpr (requires { value.begin(); }) {
    Json::Array items;
    for (const auto& item : value) items.push_back(to_json(item));
    return items;
  } else {
    WrittenMembers members;
    describe(members, value);
    return members.json;
  }
}

template <typename Value>
void from_json(const Json& json, const std::string& what, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    value = named<Value>(json.string(what));
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = json.truth(what);
  } else if constexpr (std::is_integral_v<Value>) {
    value = static_cast<Value>(json.integer(what, 0, kMostSize));
  } else if constexpr (std::is_floating_point_v<Value>) {
    value = json.number(what);
  } else if constexpr (requires { value.lo; }) {
    const Json::Array& ends = json.array(what);
    if (ends.size() != 2)
      throw Error(message(what, ": an interval of ", ends.size(), " numbers; give its two ends"));
    value = {ends[0].number(what), ends[1].number(what)};
    if (!(value.lo <= value.hi))
      throw Error(
          message(what, ": an interval from ", value.lo, " to ", value.hi, "; give the lesser end first"));
  } else if constexpr (requires { value.begin(); }) {
    value.clear();
    for (const Json& item : json.array(what)) from_json(item, what, value.emplace_back());
  } else {
    const ReadMembers members{json, what};
    describe(members, value);
  }
}

}  // namespace psm::attention
