#include "ckks/base/files/json_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"

namespace psm {
namespace {

constexpr std::string_view kEscapes = "\"\\/bfnrt",
                           kEscapeMeanings = "\"\\/\b\f\n\r\t";  // what each stands for

// Recursive descent over the grammar of RFC 8259.
class Parser {
 public:
  Parser(std::string_view text, std::string_view what, JsonLimits limits)
      : text_(text), what_(what), limits_(limits) {}

  Json document() {
    Json value = parse_value(0);
    skip_space();
    if (at_ != text_.size()) refuse("text after the end");
    return value;
  }

 private:
  [[noreturn]] void refuse(const char* why) const {
    if (at_ >= text_.size())
      throw Error(message(what_, " ends early, after ", text_.size(), " bytes; copy or write it again"));
    refuse_at(at_, why);
  }
  [[noreturn]] void refuse_at(size_t place, const char* why) const {
    throw Error(message(what_, ": not valid JSON at byte ", place, ": ", why));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool accept(std::string_view word) {
    const std::string_view here = text_.substr(at_, word.size());
    const bool accepted = here == word;
    if (accepted || word.starts_with(here)) at_ += here.size();  // the text may end inside of the word
    return accepted;
  }

  Json parse_value(int depth) {
    if (depth > limits_.max_depth) refuse("nested too deep");
    if (++values_ > limits_.max_values) refuse("too many values");
    skip_space();
    switch (peek()) {
      case '{':
        return parse_object(depth);
      case '[':
        return parse_array(depth);
      case '"':
        return Json(parse_string());
      case 't':
        if (accept("true")) return Json(true);
        break;
      case 'f':
        if (accept("false")) return Json(false);
        break;
      case 'n':
        if (accept("null")) return Json();
        break;
      default:
        return parse_number();
    }
    refuse("unknown word");
  }

  Json parse_object(int depth) {
    const size_t begin = at_++;
    Json::Object members;
    skip_space();
    if (accept("}")) return Json(std::move(members));
    do {
      skip_space();
      if (peek() != '"') refuse("expected a member's name");
      std::string key = parse_string();
      skip_space();
      if (!accept(":")) refuse("expected ':'");
      members.emplace_back(std::move(key), parse_value(depth + 1));
      skip_space();
    } while (accept(","));
    if (!accept("}")) refuse("expected ',' or '}'");
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const auto& member : members) names.push_back(member.first);
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end())
      refuse_at(begin, "a member stands twice");
    return Json(std::move(members));
  }

  Json parse_array(int depth) {
    ++at_;
    Json::Array items;
    skip_space();
    if (accept("]")) return Json(std::move(items));
    do {
      items.push_back(parse_value(depth + 1));
      skip_space();
    } while (accept(","));
    if (!accept("]")) refuse("expected ',' or ']'");
    return Json(std::move(items));
  }

  uint32_t parse_hex4() {
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    uint32_t code = 0;
    const char* const stop = std::from_chars(digits.begin(), digits.end(), code, 16).ptr;
    at_ += static_cast<size_t>(stop - digits.begin());
    if (stop != digits.begin() + 4) refuse("expected four hexadecimal digits");
    return code;
  }

  std::string parse_string() {
    ++at_;
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) refuse("a string does not end");
      const int bytes = utf8_at(text_, at_).bytes;
      if (bytes == 0) {
        if (text_.find('"', at_) == text_.npos) at_ = text_.size();  // cut off inside of a character
        refuse("a string is not UTF-8");
      }
      const char c = text_[at_];
      at_ += static_cast<size_t>(bytes);
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) refuse("a control character in a string");
      if (c != '\\') {
        out += text_.substr(at_ - static_cast<size_t>(bytes), static_cast<size_t>(bytes));
        continue;
      }
      const char escape = peek();
      ++at_;
      if (const size_t place = kEscapes.find(escape); place != kEscapes.npos) {
        out += kEscapeMeanings[place];
        continue;
      }
      if (escape != 'u') refuse("unknown escape");
      uint32_t code = parse_hex4();
      if (code >= 0xDC00 && code < 0xE000) refuse("half of a surrogate pair");
      if (code >= 0xD800 && code < 0xDC00) {
        if (!accept("\\u")) refuse("half of a surrogate pair");
        const uint32_t low = parse_hex4();
        if (low < 0xDC00 || low >= 0xE000) refuse("half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      append_utf8(out, code);
    }
  }

  void digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == begin) refuse("expected a value");
  }

  Json parse_number() {
    const size_t begin = at_;
    accept("-");
    if (!accept("0")) digits();
    bool integral = true;
    if (accept(".")) digits(), integral = false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_, integral = false;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    if (int64_t value; integral && std::from_chars(first, last, value).ec == std::errc()) return Json(value);
    double value = 0;
    if (std::from_chars(first, last, value).ec != std::errc()) refuse_at(begin, "a number out of range");
    return Json(value);
  }

  std::string_view text_, what_;
  JsonLimits limits_;
  size_t at_ = 0;
  uint64_t values_ = 0;
};

// What a value holds, for what is read of it below.
template <typename Kind, typename Value>
const Kind& require_kind(const Value& value, std::string_view what, const char* kind) {
  if (const auto* found = std::get_if<Kind>(&value)) return *found;
  throw Error(message(what, " must be ", kind));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    throw Error(
        message(what, ": ", text.size(), " bytes of JSON, at most ", limits.max_bytes, " are accepted"));
  }
  return Parser(text, what, limits).document();
}

// What is read of a value: who only writes JSON links none of it.

const Json::Object& Json::object(std::string_view what) const {
  return require_kind<Object>(value_, what, "an object");
}
const Json::Array& Json::array(std::string_view what) const {
  return require_kind<Array>(value_, what, "an array");
}
const std::string& Json::string(std::string_view what) const {
  return require_kind<std::string>(value_, what, "a string");
}
bool Json::truth(std::string_view what) const { return require_kind<bool>(value_, what, "true or false"); }

double Json::number(std::string_view what) const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&value_); value != nullptr && std::isfinite(*value))
    return *value;
  throw Error(message(what, " must be a number"));
}

int64_t Json::integer(std::string_view what, int64_t lo, int64_t hi) const {
  const auto* value = std::get_if<int64_t>(&value_);
  if (value == nullptr || *value < lo || *value > hi) {
    throw Error(message(what, " must be a whole number from ", lo, " to ", hi));
  }
  return *value;
}

const Json* Json::find(std::string_view key) const {
  if (const auto* members = std::get_if<Object>(&value_)) {
    for (const auto& [name, value] : *members) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

const Json& Json::at(std::string_view key, std::string_view what) const {
  if (const Json* value = find(key)) return *value;
  throw Error(message(what, " lacks '", key, "'"));
}

}  // namespace psm
