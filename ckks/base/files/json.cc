#include "ckks/base/files/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"

namespace psm {
namespace {

constexpr char32_t kReplacement = 0xFFFD;  // Unicode's, for what is no character
constexpr std::string_view kEscapedByWriter = "\"\\\n\r\t", kWriterLetters = "\"\\nrt";  // by place

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (const size_t place = kEscapedByWriter.find(c); place != std::string_view::npos) {
      out += '\\';
      out += kWriterLetters[place];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escape;
    } else if (const int bytes = utf8_at(text, at).bytes; bytes == 0) {
      append_utf8(out, kReplacement);
    } else {
      out += text.substr(at, static_cast<size_t>(bytes));
      at += static_cast<size_t>(bytes) - 1;
    }
  }
  out += '"';
}

}  // namespace

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  auto* members = std::get_if<Object>(&value_);
  PSM_CHECK(members != nullptr, "member ", key, " of something that is no object");
  for (auto& [name, value] : *members) {
    if (name == key) return value;
  }
  return members->emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  auto* items = std::get_if<Array>(&value_);
  PSM_CHECK(items != nullptr);
  items->push_back(std::move(value));
}

void Json::dump_to(std::string& out, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent > 0) out += '\n', out.append(static_cast<size_t>(indent * level), ' ');
  };
  const auto write_list = [&](char begin, const auto& items, char end, const auto& write) {
    out += begin;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      new_line(depth + 1);
      write(items[i]);
    }
    if (!items.empty()) new_line(depth);
    out += end;
  };
  if (const auto* truth = std::get_if<bool>(&value_)) {
    out += *truth ? "true" : "false";
  } else if (const auto* integer = std::get_if<int64_t>(&value_)) {
    out += std::to_string(*integer);
  } else if (const auto* number = std::get_if<double>(&value_); number != nullptr && std::isfinite(*number)) {
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, *number);
    out.append(digits, result.ptr);
    if (*number == 0 && std::signbit(*number)) out += ".0";  // "-0" would come back as the whole number 0
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    write_string(out, *text);
  } else if (const auto* items = std::get_if<Array>(&value_)) {
    write_list('[', *items, ']', [&](const Json& item) { item.dump_to(out, indent, depth + 1); });
  } else if (const auto* members = std::get_if<Object>(&value_)) {
    write_list('{', *members, '}', [&](const auto& member) {
      write_string(out, member.first);
      out += indent > 0 ? ": " : ":";
      member.second.dump_to(out, indent, depth + 1);
    });
  } else {
    out += "null";
  }
}

std::string Json::dump(int indent) const {
  std::string out;
  dump_to(out, indent, 0);
  return out;
}

}  // namespace psm
