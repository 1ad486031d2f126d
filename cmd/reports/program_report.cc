#include "cmd/reports/program_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;
using program::Value;

constexpr size_t kLongestName = 200, kMostListed = 8;

// Bytes of the character of UTF-8 that begins the text; 0 if there is none, or if nobody sees it: controls,
// and what changes the direction of the text or has no width.
size_t visible_bytes(std::string_view text) {
  const auto [code, bytes] = utf8_at(text, 0);
  const auto within = [code = code](char32_t lo, char32_t hi) { return code >= lo && code <= hi; };
  const bool unseen = code < 0x20 || within(0x7f, 0x9f) || code == 0xad || code == 0x61c ||
                      within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) ||
                      code == 0xfeff || within(0xe0000, 0xe0fff);
  return unseen ? 0 : static_cast<size_t>(bytes);
}

void make_visible(program::ProgramFile& file) {
  const auto each = [](std::string& name) { name = visible(name); };
  each(file.spec.name);
  for (program::EntryPoint& entry : file.entries) {
    each(entry.name), each(entry.argument);
    program::Program& p = entry.plan.program;
    for (Instruction& instruction : p.instructions) each(instruction.label);
    for (program::RangeCheck& check : p.checks) each(check.what);
    for (auto* named : {&p.inputs, &p.outputs})
      for (program::NamedValue& value : *named) each(value.name);
  }
}

// With every kind of bootstrap that the entry points have.
program::CostModel costs_of(const program::VerifiedProgram& program, const program::KernelSeconds& kernels) {
  std::set<ckks::BootstrapKind> kinds;
  for (const program::EntryPoint& entry : program.file.entries)
    kinds.merge(program::bootstrap_kinds(entry.plan));
  return program::costs_of(*program.context, ckks::plan_bootstraps(*program.context, kinds), kernels);
}

// about.`what`.`entry`, if it is an array of so many numbers.
std::vector<double> numbers_of(const Json& about, const char* what, const std::string& entry, size_t count) {
  const Json* by_entry = about.is_object() ? about.find(what) : nullptr;
  const Json* found = by_entry && by_entry->is_object() ? by_entry->find(entry) : nullptr;
  if (!found || !found->is_array() || found->array(what).size() != count) return {};
  std::vector<double> numbers;
  for (const Json& number : found->array(what)) {
    if (number.is_array() || number.is_object() || number.is_string() || number.is_null()) return {};
    numbers.push_back(number.number(what));
  }
  return numbers;
}

std::string joined(size_t count, const auto& item) {
  std::string out;
  for (size_t i = 0; i < std::min(count, kMostListed); ++i) out += (i > 0 ? ", " : "") + item(i);
  if (count > kMostListed) out += message(" and ", count - kMostListed, " more");
  return out;
}

std::string values_text(const std::vector<Value>& values) {
  return joined(values.size(), [&](size_t i) { return message("%", values[i].id); });
}

std::string number_text(ckks::Complex z) {
  if (z.imag() == 0) return format("%.6g", z.real());
  return format("%.6g", z.real()) + format(" %+.6g i", z.imag());
}

std::string detail_of(const Instruction& i, size_t slots) {
  if (i.plain.period() == 1) return "number " + number_text(i.plain.at(0));
  if (i.plain.period() != 0) {
    const std::string kind = i.plain.real() ? "real vector" : "complex vector";
    return i.plain.period() == slots ? kind : message(kind, " of period ", i.plain.period());
  }
  if (!i.offsets.empty())
    return "by " + joined(i.offsets.size(), [&](size_t k) { return std::to_string(i.offsets[k]); });
  if (i.linear) return counted(i.linear->terms.size(), "diagonal");
  if (i.series) return message("degree ", std::max<size_t>(i.series->coefficients.size(), 1) - 1);
  return i.opcode == Opcode::kBootstrap ? "of " + i.bootstrap.text() : "";
}

std::string slots_text(const program::Program& p, Value value) {
  std::string out = p.value_is_real[id(value)] ? "real" : "complex";
  if (p.value_period[id(value)] < p.slots) out += message(" ", p.value_period[id(value)]);
  if (p.value_block[id(value)] > 1) out += message(" / ", p.value_block[id(value)]);
  return out;
}

// Columns of words to the left, columns of numbers to the right, the last one as it is.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<bool>& to_the_right) {
  std::vector<size_t> width(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t c = 0; c + 1 < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string out;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(width[c] - std::min(width[c], row[c].size()), ' ');
      if (width[c] + row[c].size() > 0) line += " " + (to_the_right[c] ? pad + row[c] : row[c] + pad) + " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string facts_text(const Facts& facts) {
  std::string out;
  for (const auto& [name, value] : facts)
    out += "  " + name + std::string(name.size() < 22 ? 22 - name.size() : 1, ' ') + value + "\n";
  return out;
}

Json json_of(const ShownProgram& shown, const ShownEntry& entry, size_t index) {
  const program::Plan& plan = entry.point->plan;
  const Instruction& i = plan.program.instructions[index];
  Json json;
  json["label"] = i.label;
  json["operation"] = program::name(i.opcode);
  if (std::string detail = detail_of(i, plan.program.slots); !detail.empty())
    json["detail"] = std::move(detail);
  json["arguments"] = Json(Json::Array{});
  for (const Value argument : i.arguments) json["arguments"].push_back(argument.id);
  json["level"] = int{plan.argument_level[index]};
  json["seconds"] = entry.reading.instruction_seconds[index];
  json["results"] = Json(Json::Array{});
  for (const Value result : i.results) {
    Json value;
    value["id"] = result.id;
    value["level"] = int{plan.level[id(result)]};
    value["log2_scale"] =
        std::log2(shown.program.context->scales()[static_cast<size_t>(int{plan.level[id(result)]})]);
    value["real"] = plan.program.value_is_real[id(result)] != 0;
    value["period"] = static_cast<int64_t>(plan.program.value_period[id(result)]);
    value["block"] = static_cast<int64_t>(plan.program.value_block[id(result)]);
    if (!entry.predicted_errors.empty()) value["predicted_error"] = entry.predicted_errors[id(result)];
    json["results"].push_back(std::move(value));
  }
  return json;
}

Json json_of(const ShownProgram& shown, const ShownEntry& entry) {
  const program::Program& p = entry.point->plan.program;
  Json json = program::to_json(entry.reading);
  json["name"] = entry.point->name;
  json["bootstraps"] = entry.point->plan.bootstraps;
  if (!entry.point->argument.empty()) {
    json["argument"]["name"] = entry.point->argument;
    json["argument"]["first"] = int64_t{entry.point->first};
    json["argument"]["values"] = static_cast<int64_t>(entry.point->by_argument.size());
  }
  for (const auto& [name, values] : {std::pair("inputs", &p.inputs), {"outputs", &p.outputs}}) {
    json[name] = Json(Json::Array{});
    for (const program::NamedValue& named : *values) {
      Json value;
      value["name"] = named.name;
      value["id"] = named.value.id;
      value["level"] = int{entry.point->plan.level[id(named.value)]};
      json[name].push_back(std::move(value));
    }
  }
  Json& checks = json["range_checks"] = Json(Json::Array{});
  for (size_t c = 0; c < p.checks.size(); ++c) {
    Json check;
    check["what"] = p.checks[c].what;
    check["value"] = p.checks[c].value.id;
    check["lo"] = p.checks[c].lo;
    check["hi"] = p.checks[c].hi;
    if (!entry.observed_ranges.empty()) {
      check["observed_lo"] = entry.observed_ranges[2 * c];
      check["observed_hi"] = entry.observed_ranges[2 * c + 1];
    }
    checks.push_back(std::move(check));
  }
  Json& instructions = json["instructions"] = Json(Json::Array{});
  for (size_t i = 0; i < p.instructions.size(); ++i) instructions.push_back(json_of(shown, entry, i));
  return json;
}

}  // namespace

std::string visible(const std::string& text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    if (out.size() >= kLongestName) return out + " ...";
    const size_t bytes = visible_bytes(rest);
    if (bytes > 0) {
      out += rest.substr(0, bytes);
    } else {
      out += "\\x" + hex(rest.data(), 1);
    }
    rest.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

ShownProgram::ShownProgram(program::VerifiedProgram verified, const std::string& path,
                           const std::string& entry, const program::KernelSeconds& seconds, std::string whose)
    : program(std::move(verified)),
      name(visible(std::filesystem::path(path).filename().string())),
      file_bytes(std::filesystem::file_size(path)),
      kernels(seconds),
      machine(std::move(whose)) {
  make_visible(program.file);
  if (!entry.empty()) program.file.entry(entry);  // or throw
  for (uint32_t c = 0; c < program.file.constants->size(); ++c)
    constant_bytes += program.file.constants->bytes(c);
  const program::CostModel costs = costs_of(program, kernels);
  const Json& about = program.file.about;
  for (const program::EntryPoint& point : program.file.entries) {
    if (!entry.empty() && point.name != entry) continue;
    entries.push_back(
        {&point, program::meter(point.plan, costs),
         numbers_of(about, "predicted_errors", point.name, point.plan.level.size()),
         numbers_of(about, "observed_ranges", point.name, 2 * point.plan.program.checks.size())});
  }
}

InstructionText text_of(const ShownProgram& shown, const ShownEntry& entry, size_t index) {
  const program::Plan& plan = entry.point->plan;
  const Instruction& i = plan.program.instructions[index];
  InstructionText text;
  text.label = i.label;
  text.operation = program::name(i.opcode);
  text.detail = detail_of(i, plan.program.slots);
  if (!i.arguments.empty()) text.values = values_text(i.arguments) + " ";
  if (!i.results.empty()) text.values += "-> " + values_text(i.results);
  const auto level_text = [](int level) { return format("%2.0f", level); };
  text.levels = i.opcode == Opcode::kInput ? "     " : level_text(plan.argument_level[index]) + " -> ";
  if (i.opcode == Opcode::kInput) text.levels += " ";
  std::vector<ckks::Level> levels;
  for (const Value result : i.results)
    if (levels.empty() || levels.back() != plan.level[id(result)]) levels.push_back(plan.level[id(result)]);
  text.levels += joined(levels.size(), [&](size_t k) { return level_text(levels[k]); });
  if (!i.results.empty()) {
    const Value first = i.results[0];
    text.slots = slots_text(plan.program, first);
    text.scale = format(
        "%.2f", std::log2(shown.program.context->scales()[static_cast<size_t>(int{plan.level[id(first)]})]));
    if (!entry.predicted_errors.empty()) text.error = power_of_two_text(entry.predicted_errors[id(first)]);
  }
  text.seconds = cost_text(entry.reading.instruction_seconds[index]);
  return text;
}

Facts facts_of(const ShownProgram& shown) {
  const program::ProgramFile& file = shown.program.file;
  Facts facts{{"parameters", shown.program.context->describe()},
              {"digest", hex(file.digest.data(), file.digest.size())},
              {"file", bytes_text(static_cast<double>(shown.file_bytes))},
              {"constants", counted(file.constants->size(), "vector") + ", " +
                                bytes_text(static_cast<double>(shown.constant_bytes))}};
  if (!file.about.is_object()) return facts;
  for (const auto& [name, value] : file.about.object("about"))
    if (!value.is_object() && !value.is_array())
      facts.emplace_back(visible(name), visible(value.is_string() ? value.string(name) : value.dump(0)));
  return facts;
}

Facts facts_of(const ShownEntry& entry) {
  const program::Plan& plan = entry.point->plan;
  const auto named = [&](const std::vector<program::NamedValue>& values) {
    return joined(values.size(), [&](size_t i) {
      return message(values[i].name, " (level ", int{plan.level[id(values[i].value)]}, ")");
    });
  };
  Facts facts{{"inputs", named(plan.program.inputs)}, {"outputs", named(plan.program.outputs)}};
  if (!entry.point->argument.empty()) {
    const auto values = static_cast<int64_t>(entry.point->by_argument.size());
    facts.emplace_back("argument", message(entry.point->argument, " from ", entry.point->first, " to ",
                                           entry.point->first + values - 1));
  }
  return facts;
}

Facts figures_of(const ShownProgram& shown, const ShownEntry& entry) {
  const program::MeterReading& reading = entry.reading;
  const program::Plan& plan = entry.point->plan;
  double in_bootstraps = 0;
  for (size_t i = 0; i < reading.instruction_seconds.size(); ++i)
    if (plan.program.instructions[i].opcode == Opcode::kBootstrap)
      in_bootstraps += reading.instruction_seconds[i];
  return {{"instructions", std::to_string(plan.program.instructions.size())},
          {"bootstraps", std::to_string(plan.bootstraps)},
          {"on " + shown.machine, seconds_text(reading.seconds)},
          {"in bootstraps", percent(reading.seconds > 0 ? in_bootstraps / reading.seconds : 0)},
          {"keys", std::to_string(reading.keys.count(shown.program.context->chain()))},
          {"bytes of keys", bytes_text(reading.key_bytes())},
          {"working memory", bytes_text(reading.run_bytes())}};
}

std::string cost_text(double seconds) {
  if (seconds == 0) return "0";
  if (seconds < 0.9995e-3) return format("%.3g us", 1e6 * seconds);
  return seconds < 0.00995 ? format("%.1f ms", 1e3 * seconds) : seconds_text(seconds);
}

Table keys_table(const ShownEntry& entry) {
  Table keys({"level", "keys", "bytes"});
  for (const auto& [level, figures] : entry.reading.keys_by_level)
    keys.row({std::to_string(int{level}), std::to_string(figures.count), bytes_text(figures.bytes)});
  return keys;
}

std::string program_text(const ShownProgram& shown) {
  std::string out = shown.name + "\n" + facts_text(facts_of(shown));
  for (const ShownEntry& entry : shown.entries) {
    out += "\nentry point " + entry.point->name + "\n" + facts_text(figures_of(shown, entry)) +
           facts_text(facts_of(entry));
    out += "\n" + keys_table(entry).text() +
           "\n  Slots: \"real 64 / 8\" are real values that repeat after 64 slots and are equal in 8 "
           "adjacent ones.\n\n";
    std::vector<std::vector<std::string>> rows{{"", "level", "log2 scale", "slots", "seconds",
                                                entry.predicted_errors.empty() ? "" : "error", "label",
                                                "operation", "values"}};
    for (size_t i = 0; i < entry.point->plan.program.instructions.size(); ++i) {
      InstructionText text = text_of(shown, entry, i);
      rows.push_back({std::to_string(i), text.levels, text.scale, text.slots, text.seconds, text.error,
                      text.label, text.operation,
                      text.detail.empty() ? text.values : text.values + "  (" + text.detail + ")"});
    }
    out += aligned(rows, {true, false, true, false, true, true, false, false, false});
  }
  return out;
}

Json program_json(const ShownProgram& shown) {
  const program::ProgramFile& file = shown.program.file;
  const ckks::Context& context = *shown.program.context;
  Json json;
  json["name"] = shown.name;
  json["digest"] = hex(file.digest.data(), file.digest.size());
  json["bytes"] = shown.file_bytes;
  json["parameters"]["description"] = context.describe();
  json["parameters"]["log_n"] = context.log_n();
  json["parameters"]["log_qp"] = context.log2_qp();
  json["parameters"]["insecure"] = file.spec.insecure;
  json["constants"]["vectors"] = static_cast<int64_t>(file.constants->size());
  json["constants"]["bytes"] = shown.constant_bytes;
  json["machine"] = shown.machine;
  json["about"] = file.about;
  json["entries"] = Json(Json::Array{});
  for (const ShownEntry& entry : shown.entries) json["entries"].push_back(json_of(shown, entry));
  return json;
}

}  // namespace psm::cmd
