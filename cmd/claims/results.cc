#include "cmd/claims/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"
#include "cmd/protocol/temporary_folder.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxFile = 4 << 20;
constexpr const char *kBlock = "<!-- result ", *kEnd = "<!-- end result -->";

std::string text_or_empty(const Json& value, std::string_view what) {
  return value.is_null() ? "" : value.string(what);
}

Result read_result(const std::string& file) {
  Result result;
  result.name = std::filesystem::path(file).stem();
  result.json = parse_json(read_file(file, kMaxFile), file);
  result.command = text_or_empty(result.json.at("command", file), file + ": command");
  result.commit = text_or_empty(result.json.at("commit", file), file + ": commit");
  result.machine = text_or_empty(result.json.at("machine", file), file + ": machine");
  for (const auto& [name, figure] : result.json.at("figures", file).object(file + ": figures")) {
    const std::string what = file + ": " + name;
    result.figures.push_back({.name = name,
                              .unit = figure.at("unit", what).string(what),
                              .at = text_or_empty(figure.at("at", what), what),
                              .value = figure.at("value", what).number(what),
                              .tolerance = figure.at("tolerance", what).number(what)});
  }
  return result;
}

const Result& result_named(const std::string& name, const std::vector<Result>& results) {
  const auto found = std::ranges::find(results, name, &Result::name);
  if (found == results.end()) throw Error(message("there is no result '", name, "' in ", kResultsFolder));
  return *found;
}

// A value as documents print it: "5,540", "0.982", "+1.98", "5.4e-9".
std::string printed(double value, std::string form) {
  const bool sign = form.starts_with('+'), exponent = form.ends_with('e');
  const std::string pattern =
      form.empty() ? "%.10g"
                   : message(sign ? "%+." : "%.", std::atoi(form.c_str() + sign), exponent ? "e" : "f");
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern.c_str(), value);
  std::string text = buffer;
  if (const size_t e = text.find('e'); e != text.npos) {  // "e-09" and "e+06"
    if (text[e + 2] == '0') text.erase(e + 2, 1);
    if (text[e + 1] == '+') text.erase(e + 1, 1);
  }
  size_t end = std::min(text.find_first_of(".e"), text.size());
  for (; end > 3 && std::isdigit(static_cast<unsigned char>(text[end - 4])); end -= 3)
    text.insert(end - 3, ",");
  return text;
}

// What {WORDS} stands for in a text of `own`.
std::string filled(const std::string& words, const Result& own, const std::vector<Result>& results) {
  const size_t colon = words.find(':'), point = words.find('.');
  const std::string name = words.substr(0, colon), form = colon == words.npos ? "" : words.substr(colon + 1);
  if (name == "run") {
    std::string seeds;
    const Json& all = own.json.at("seeds", own.name);
    if (!all.is_null())
      seeds = joined(all.array(own.name), ", ", [](const Json& seed) { return seed.dump(0); });
    std::string run;
    const auto add = [&](const char* what, const std::string& text) {
      if (!text.empty()) run += (run.empty() ? "" : "; ") + (what + text);
    };
    add("", own.machine);
    add("version ", own.commit);
    add(seeds.find(',') == seeds.npos ? "seed " : "seeds ", seeds);
    return run.empty() ? "run not recorded" : run;
  }
  if (name == "command") {  // without where its figures go
    static const std::regex out("( --)?(?= --json \\$OUT) --json \\$OUT/[^ ]*");
    return own.command.empty() ? "command not recorded"
                               : "`" + std::regex_replace(own.command, out, "") + "`";
  }
  const bool foreign = point < colon && point != words.npos;
  const Result& result = foreign ? result_named(name.substr(0, point), results) : own;
  const std::string figure = foreign ? name.substr(point + 1) : name;
  const auto found = std::ranges::find(result.figures, figure, &Figure::name);
  if (found == result.figures.end())
    throw Error(message("the result ", result.name, " has no figure '", figure, "'"));
  return printed(found->value, form);
}

// The lines of a block, by what its first line names.
std::string block(const std::string& line, const std::vector<Result>& results) {
  std::string out;
  const std::string words = line.substr(std::string_view(kBlock).size());
  const size_t point = words.find('.'), end = words.find(" -->");
  if (point > end || end == words.npos) throw Error(message("'", line, "' does not name RESULT.TEXT"));
  const Result& result = result_named(words.substr(0, point), results);
  const std::string name = words.substr(point + 1, end - point - 1);
  for (const Json& text : result.json.at("texts", result.name).at(name, result.name).array(name)) {
    std::string rest = text.string(name);
    static const std::regex place("\\{([^{}]*)\\}");
    for (std::smatch match; std::regex_search(rest, match, place); rest = match.suffix())
      out += match.prefix().str() + filled(match[1], result, results);
    out += rest + "\n";
  }
  return out;
}

std::string laid_out(const Json& value, const std::string& indent) {
  constexpr size_t kLine = 150;
  std::string line = value.dump(0), out;
  if (line.size() <= kLine || !(value.is_array() || value.is_object())) return line;
  const auto add = [&](const std::string& key, const Json& part) {
    out += (out.empty() ? "\n " : ",\n ") + indent + key + laid_out(part, indent + " ");
  };
  if (value.is_array()) {
    for (const Json& part : value.array("result")) add("", part);
    return "[" + out + "\n" + indent + "]";
  }
  for (const auto& [key, part] : value.object("result")) add(Json(key).dump(0) + ": ", part);
  return "{" + out + "\n" + indent + "}";
}

// Whether a number as it is printed is the value of a figure, in this unit if there is one.
bool is_stated(const std::string& number, const std::string& unit, const std::vector<Result>& results) {
  const size_t point = number.find('.'), e = number.find('e');
  const size_t digits = point == number.npos ? 0 : std::min(e, number.size()) - point - 1;
  const std::string form = message(digits, e == number.npos ? "" : "e");
  for (const Result& result : results)
    for (const Figure& figure : result.figures)
      if ((unit.empty() || figure.unit == unit) && printed(std::abs(figure.value), form) == number)
        return true;
  return false;
}

}  // namespace

std::string file_of(const Json& result) { return laid_out(result, "") + "\n"; }

std::vector<Result> read_results(const std::string& folder) {
  std::set<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".json") files.insert(entry.path().string());
  if (files.empty()) throw Error(folder + " holds no results; call this in the repository's root");
  std::vector<Result> results;
  for (const std::string& file : files) results.push_back(read_result(file));
  return results;
}

std::string with_results(const std::string& document, const std::vector<Result>& results) {
  std::istringstream lines(document);
  std::string out, line;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line == kEnd) inside = false;
    if (!inside) out += line + "\n";
    if (!line.starts_with(kBlock)) continue;
    if (inside) throw Error(message("a block begins before the end of another: ", line));
    out += block(line, results);
    inside = true;
  }
  if (inside) throw Error(message("a block has no ", kEnd));
  return out;
}

std::vector<std::string> unsupported_figures(const std::string& document,
                                             const std::vector<Result>& results) {
  std::set<std::string, std::greater<>> units;  // a longer one first, if it begins with another
  for (const Result& result : results)
    for (const Figure& figure : result.figures) units.insert(figure.unit);
  static const std::regex code("`[^`]*`|<!--.*-->"), number("\\d[\\d,]*\\d|\\d"),
      fraction("^(\\.\\d+)?(e-?\\d+)?"), cell("\\| *([\\d,.]+) *(?=\\|)"), power_of_ten("1e-?\\d+");
  std::vector<std::string> unsupported;
  std::istringstream lines(document);
  std::string line;
  bool fenced = false, inside = false;
  for (int n = 1; std::getline(lines, line); ++n) {
    if (line.starts_with(kBlock) || line == kEnd) inside = line != kEnd;
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    line = std::regex_replace(line, code, "`");
    const auto check = [&](const std::string& figure, const std::string& unit) {
      if (!is_stated(figure, unit, results))
        unsupported.push_back(message(n, ": ", figure, unit.empty() ? "" : " ", unit));
    };
    if (!inside && line.starts_with("|"))
      for (std::sregex_iterator i(line.begin(), line.end(), cell), end; i != end; ++i)
        if ((*i)[1].str().find('.') == std::string::npos) check((*i)[1], "");
    for (std::sregex_iterator i(line.begin(), line.end(), number), end; i != end; ++i) {
      const auto at = static_cast<size_t>(i->position());
      // Parts of names, versions and powers.
      const char before = at > 0 ? line[at - 1] : ' ', second = at > 1 ? line[at - 2] : ' ';
      const bool power = before == '-' && second == '^';
      if (std::isalnum(static_cast<unsigned char>(before)) || (before == '.' && at > 1) ||
          std::string("_/^").find(before) != std::string::npos ||
          (before == '-' && !power && std::isalnum(static_cast<unsigned char>(second))))
        continue;
      std::string rest = line.substr(at + i->str().size());
      std::smatch more;
      std::regex_search(rest, more, fraction);
      const std::string figure = i->str() + more.str();
      rest = more.suffix();
      const bool fractional = more.length() > 0;
      std::string unit;
      const std::string next = rest.starts_with(" ") ? rest.substr(1) : rest;
      for (const std::string& known : units)
        if (!known.empty() && next.starts_with(known) &&
            (known == "%" || next.size() == known.size() ||
             !std::isalnum(static_cast<unsigned char>(next[known.size()])))) {
          unit = known;
          break;
        }
      const char after = rest.empty() ? ' ' : rest[0];
      if (unit.empty() &&
          (!fractional || std::isalpha(static_cast<unsigned char>(after)) ||
           (after == '.' && rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1]))) ||
           std::regex_match(figure, power_of_ten)))
        continue;
      check(figure, unit);
    }
  }
  return unsupported;
}

double value_at(const std::string& folder, const std::string& at) {
  constexpr std::string_view kTimes = " * ", kOver = " / ", kBits = " in bits";
  if (at.ends_with(kBits)) return -std::log2(value_at(folder, at.substr(0, at.size() - kBits.size())));
  if (const size_t times = at.find(kTimes); times != at.npos)
    return value_at(folder, at.substr(0, times)) * std::stod(at.substr(times + kTimes.size()));
  if (const size_t over = at.find(kOver); over != at.npos)
    return value_at(folder, at.substr(0, over)) / value_at(folder, at.substr(over + kOver.size()));
  std::istringstream keys(at);
  std::string key;
  std::getline(keys, key, '/');
  Json value = parse_json(read_file(folder + "/" + key, kMaxFile), key);
  const auto holds = [&](const Json& element) {
    const auto is_key = [&](const Json& cell) { return cell.is_string() && cell.string(at) == key; };
    if (element.is_array()) return std::ranges::any_of(element.array(at), is_key);
    return element.is_object() &&
           std::ranges::any_of(element.object(at), [&](const auto& member) { return is_key(member.second); });
  };
  size_t wanted = 1;  // of the numbers in a text
  while (std::getline(keys, key, '/')) {
    if (const size_t hash = key.find('#'); hash != key.npos) {
      wanted = static_cast<size_t>(std::atoi(key.c_str() + hash + 1));
      key.resize(hash);
    }
    if (value.is_object()) {
      value = Json(value.at(key, at));
      continue;
    }
    const Json::Array& array = value.array(at);
    auto found = std::ranges::find_if(array, holds);
    if (found == array.end() && key.find_first_not_of("0123456789") == key.npos)
      found =
          array.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(std::atoi(key.c_str()), array.size()));
    if (found == array.end()) throw Error(message(at, ": there is no '", key, "'"));
    value = Json(*found);
  }
  if (!value.is_string()) return value.number(at);
  static const std::regex number("[-+]?\\d[\\d,]*(\\.\\d+)?(e[-+]?\\d+)?");
  const std::string text = value.string(at);
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    if (--wanted == 0) return std::stod(std::regex_replace(i->str(), std::regex(","), ""));
  throw Error(message(at, ": '", text, "' holds no such number"));
}

std::vector<std::optional<double>> measure_again(const Result& result) {
  if (result.command.empty()) throw Error(message("no command is recorded for ", result.name));
  const TemporaryFolder folder;
  ChildProcess command(
      {"/bin/sh", "-ec", "OUT=" + folder.path() + "; export OUT; exec >&2; " + result.command});
  command.output();
  if (command.wait() != 0) throw Error(command.ending(), Error::Kind::kFailed);
  std::vector<std::optional<double>> values;
  for (const Figure& figure : result.figures)
    values.push_back(figure.at.empty() ? std::nullopt : std::optional(value_at(folder.path(), figure.at)));
  return values;
}

bool is_same_machine(const std::string& machine, const std::string& processor) {
  return machine == processor || machine.starts_with(processor + ",");
}

bool is_confirmed(const Figure& figure, double value, bool same_machine) {
  const bool time = figure.unit.ends_with("/s") || figure.unit == "s" || figure.unit == "ms" ||
                    figure.unit == "us" || figure.unit == "min";
  return (time && !same_machine) ||
         std::abs(value - figure.value) <= figure.tolerance * std::abs(figure.value);
}

}  // namespace psm::cmd
