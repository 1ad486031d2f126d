#include "cmd/reports/program_report.h"

#include <map>
#include <set>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/joined.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/terminal/html.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;

constexpr size_t kLongestName = 200;
constexpr size_t kMostShown = 16;  // of what is not folded

std::string name_text(const std::string& name) {
  return name.size() > kLongestName ? visible(name.substr(0, kLongestName)) + " ..." : visible(name);
}

// about.`what`.`entry`, if it is an array of so many numbers.
std::vector<double> numbers_of(const Json& about, const char* what, const std::string& entry, size_t count) {
  std::vector<double> numbers;
  try {
    for (const Json& number : about.at(what, what).at(entry, what).array(what))
      numbers.push_back(number.number(what));
  } catch (const Error&) {  // it is something else
    return {};
  }
  return numbers.size() == count ? numbers : std::vector<double>();
}

// Says how many there are of each kind, and what each takes: "11 of all slots, each 1.10 s".
std::string bootstraps_text(const ShownEntry& entry) {
  std::map<ckks::BootstrapKind, std::pair<int64_t, double>> kinds;
  const std::vector<Instruction>& instructions = entry.point->plan.program.instructions;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].opcode != Opcode::kBootstrap) continue;
    auto& [count, seconds] = kinds[instructions[i].bootstrap];
    ++count, seconds += entry.reading.instruction_seconds[i];
  }
  std::string text = kinds.empty() ? "0" : "";
  for (const auto& [kind, of] : kinds)
    text += message(text.empty() ? "" : "; ", of.first, " of ", kind.text(), ", each ",
                    seconds_text(of.second / static_cast<double>(of.first)));
  return text;
}

// Two rows: what a reader asks first, and the rest.
Figures entry_figures(const ShownProgram& shown, const ShownEntry& entry) {
  const program::MeterReading& reading = entry.reading;
  const program::Plan& plan = entry.point->plan;
  const ckks::Chain& chain = shown.program.context->chain();
  double in_bootstraps = 0;
  for (const program::LedgerSummary& kind : entry.ledger.by_kind())
    if (kind.bootstraps > 0) in_bootstraps += kind.predicted_seconds;
  Figures figures;
  figures.row()
      .json("name", entry.point->name)
      .both("instruction_count", "instructions", static_cast<int64_t>(plan.program.instructions.size()))
      .both("bootstraps", "bootstraps", plan.bootstraps)
      .number("seconds", "on " + shown.machine, reading.seconds, seconds_text)
      .number("bootstrap_share", "in bootstraps", reading.seconds > 0 ? in_bootstraps / reading.seconds : 0,
              percent)
      .number("full_bootstraps", "time of so many full bootstraps",
              entry.full_bootstrap > 0 ? reading.seconds / entry.full_bootstrap : 0, "%.1f")
      .both("keys", "keys", static_cast<int64_t>(reading.keys.count(chain)))
      .number("key_bytes", "bytes of keys", reading.key_bytes, bytes_text)
      .number("run_bytes", "working memory", reading.run_bytes(), bytes_text);
  Figures::Row& more = figures.row();
  const auto named = [&](const char* what, const std::vector<program::NamedValue>& values) {
    Json list = Json::Array{};
    std::vector<std::string> names;
    for (const auto& [name, value] : values) {
      const int level = plan.level[static_cast<size_t>(value.id)];
      list.push_back(Json::Object{{"name", name}, {"id", value.id}, {"level", level}});
      names.push_back(message(name, " (level ", level, ")"));
    }
    more.both(what, what, list, joined(names, ", ", {}, kMostListed));
  };
  named("inputs", plan.program.inputs), named("outputs", plan.program.outputs);
  if (!entry.point->argument.empty()) {
    const auto values = static_cast<int64_t>(entry.point->by_argument.size());
    const int64_t first = entry.point->first;
    more.both("argument", "argument",
              Json::Object{{"name", entry.point->argument}, {"first", first}, {"values", values}},
              message(entry.point->argument, " from ", first, " to ", first + values - 1));
  }
  int weights = 0;
  double weight_bytes = 0;
  for (const auto& [name, value] : plan.program.inputs) {
    if (!name.starts_with(kWeightPrefix)) continue;
    ++weights;
    weight_bytes += static_cast<double>(chain.ciphertext_bytes(plan.level[static_cast<size_t>(value.id)]));
  }
  if (weights > 0)
    more.json("encrypted_weights", weights)
        .both("encrypted_weight_bytes", "encrypted weights", weight_bytes,
              message(weights, " ciphertexts, ", bytes_text(weight_bytes), " besides the memory below"));
  if (shown.encode_seconds_per_byte > 0)
    more.number("encode_seconds", "encoding the weights",
                shown.encode_seconds_per_byte * reading.plaintext_bytes, seconds_text);
  const double kept = reading.kept_plaintext_bytes();  // encoded, by a run of whole passes
  more.cell("bootstraps", bootstraps_text(entry))
      .number("peak_bytes", "memory at its peak", reading.peak_bytes(), bytes_text)
      .number("bootstrap_bytes", "  bootstraps", reading.bootstrap_bytes, bytes_text)
      .both("ciphertext_bytes", "  ciphertexts", reading.peak_ciphertext_bytes,
            bytes_text(reading.peak_ciphertext_bytes) + ", " + reading.peak_operation)
      .both(
          "plaintext_bytes", "  plaintexts", reading.plaintext_bytes,
          bytes_text(kept) + (kept < reading.plaintext_bytes
                                  ? " of " + bytes_text(reading.plaintext_bytes) + "; the others in each pass"
                                  : ""))
      .number("table_bytes", "  the program's tables", reading.table_bytes, bytes_text);
  return figures;
}

Figures count_figures(const program::MeterReading& reading) {
  Figures figures;
  for (const auto& [where, counts] :
       {std::pair("the program", &reading.counts), {"its bootstraps", &reading.bootstrap_counts}})
    figures.row()
        .both("where", "operations of", where)
        .both("hoisted_key_switches", "hoisted", counts->hoisted_key_switches)
        .both("full_key_switches", "full", counts->full_key_switches)
        .both("relinearisations", "relinearisations", counts->relinearisations)
        .both("conjugations", "conjugations", counts->conjugations)
        .both("plaintext_products", "plaintext products", counts->plaintext_products)
        .both("ciphertext_products", "ciphertext products", counts->ciphertext_products)
        .both("rescales", "rescales", counts->rescales)
        .json("level_drops", counts->level_drops);
  return figures;
}

Figures kernel_figures(const ShownProgram& shown, const program::MeterReading& reading) {
  Figures figures;
  for (size_t k = 0; k < program::kWorkKindCount; ++k) {
    const double limbs = reading.work.limbs[k], seconds = limbs * shown.kernels.seconds[k];
    figures.row()
        .both("kernel", "kernel", program::name(static_cast<program::WorkKind>(k)))
        .number("limbs", "limbs", limbs, "%.0f")
        .number("seconds", "seconds", seconds, seconds_text)
        .cell("share", reading.seconds > 0 ? percent(seconds / reading.seconds) : "");
  }
  return figures;
}

// The ranges that a program relies on, and how many were observed beyond.
std::pair<Figures, size_t> check_figures(const ShownEntry& entry) {
  const program::Program& program = entry.point->plan.program;
  Figures figures({"block", "value", "interval", "observed"});
  size_t beyond = 0;
  for (size_t c = 0; c < program.checks.size(); ++c) {
    const program::RangeCheck& check = program.checks[c];
    const program::LedgerRow& made = entry.ledger.row(check.value);
    Figures::Row& row = figures.row()
                            .both("instruction", "instruction", static_cast<int64_t>(made.instruction))
                            .cell("block", program::block_of(made.label, 2))
                            .both("what", "value", check.what)
                            .json("value", check.value.id)
                            .json("lo", check.lo)
                            .json("hi", check.hi)
                            .cell("interval", range_text(check.lo, check.hi));
    if (entry.observed_ranges.empty()) continue;
    const double lo = entry.observed_ranges[2 * c], hi = entry.observed_ranges[2 * c + 1];
    const bool inside = lo >= check.lo && hi <= check.hi;
    beyond += !inside;
    row.json("observed_lo", lo)
        .json("observed_hi", hi)
        .cell("observed", (inside ? "" : "beyond: ") + format("%.4g", lo) + " to " + format("%.4g", hi));
  }
  return {std::move(figures), beyond};
}

Figures head_figures(const ShownProgram& shown) {
  const program::ProgramFile& file = shown.program.file;
  const ckks::Context& context = *shown.program.context;
  Figures figures;
  Figures::Row& row = figures.row();
  row.json("name", shown.name)
      .both("parameters", "parameters",
            Json::Object{{"description", context.describe()},
                         {"log_n", context.log_n()},
                         {"log_qp", context.log2_qp()},
                         {"insecure", file.spec.insecure}},
            context.describe());
  if (file.constants) {
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < file.constants->size(); ++c) bytes += file.constants->bytes(c);
    row.both("digest", "digest", hex(file.digest.data(), file.digest.size()))
        .both("constants", "constants",
              Json::Object{{"vectors", static_cast<int64_t>(file.constants->size())}, {"bytes", bytes}},
              counted(file.constants->size(), "vector") + ", " + bytes_text(static_cast<double>(bytes)));
  }
  row.json("machine", shown.machine).json("about", file.about);
  if (!file.about.is_object()) return figures;
  for (const auto& [name, value] : file.about.object("about"))
    if (!value.is_object() && !value.is_array())
      row.cell(name_text(name), name_text(value.is_string() ? value.string(name) : value.dump(0)));
  return figures;
}

std::string entry_html(const ShownProgram& shown, const ShownEntry& entry) {
  const Figures figures = entry_figures(shown, entry);
  std::string out = html_tagged("h2", "Entry point " + entry.point->name) + "\n" +
                    html_cards(figures.front().facts()) + html_lines(figures.back().facts()) +
                    html_of(count_figures(entry.reading).table(), "operations") +
                    html_of(kernel_figures(shown, entry.reading).table(), "kernels");
  if (const auto [checks, beyond] = check_figures(entry); !checks.empty()) {
    const size_t count = checks.table().rows().size() - 1;
    const std::string summary =
        counted(count, "range") +
        (entry.observed_ranges.empty() ? "" : message(", ", beyond, " observed beyond the interval"));
    out += message("<details", count <= kMostShown ? " open>" : ">", html_tagged("summary", summary),
                   html_of(checks.table(), "ranges that the program relies on"), "</details>\n");
  }
  return out + ledger_html(entry.ledger);
}

}  // namespace

ShownProgram::ShownProgram(program::VerifiedProgram verified, const std::string& file_name,
                           const program::Calibration* measured, const std::string& entry)
    : program(std::move(verified)),
      name(name_text(file_name)),
      kernels(measured ? measured->kernels : program::KernelSeconds{}),
      machine(measured ? message("this machine", measured->caveat()) : "a nominal machine at N = 2^16"),
      encode_seconds_per_byte(measured ? program::encode_seconds_per_byte(*program.context) : 0) {
  if (!entry.empty()) program.file.entry(entry);  // or throw
  const program::CostModel costs = costs_with(kernels);
  const Json& about = program.file.about;
  for (const program::EntryPoint& point : program.file.entries) {
    if (!entry.empty() && point.name != entry) continue;
    ShownEntry& shown = entries.emplace_back(ShownEntry{
        &point, program::meter(point.plan, costs), program::Ledger(point.plan, program.context->scales()),
        numbers_of(about, "observed_ranges", point.name, 2 * point.plan.program.checks.size()),
        point.plan.bootstraps > 0 ? costs.bootstrap({}).seconds : 0});
    shown.ledger.set_predicted_seconds(shown.reading.instruction_seconds);
    const std::vector<double> errors =
        numbers_of(about, "predicted_errors", point.name, point.plan.level.size());
    if (!errors.empty()) shown.ledger.set_predicted_errors({}, errors);
  }
}

program::CostModel ShownProgram::costs_with(const program::KernelSeconds& seconds) const {
  // The full bootstrap is planned too, whether or not a plan has it: a pass is compared with its seconds.
  std::set<ckks::BootstrapKind> kinds{ckks::BootstrapKind{}};
  for (const program::EntryPoint& entry : program.file.entries)
    kinds.merge(program::bootstrap_kinds(entry.plan));
  return program::costs_of(*program.context, ckks::plan_bootstraps(*program.context, kinds), seconds);
}

std::string program_text(const ShownProgram& shown, bool instructions) {
  std::string out = shown.name + "\n" + head_figures(shown).lines();
  for (const ShownEntry& entry : shown.entries) {
    out += "\nentry point " + entry.point->name + "\n" + entry_figures(shown, entry).lines() + "\n" +
           count_figures(entry.reading).table().text() + "\n" +
           sum_figures(entry.ledger.summary(), "block").table().text();
    if (instructions)
      out +=
          "\n  Slots: \"real 64 / 8\" are real values that repeat after 64 slots and are equal in 8 adjacent "
          "ones.\n\n" +
          row_figures(entry.ledger, entry.ledger.rows()).table().text();
  }
  return out;
}

Json program_json(const ShownProgram& shown, bool instructions) {
  Json json = head_figures(shown).object();
  json["entries"] = Json(Json::Array{});
  for (const ShownEntry& entry : shown.entries) {
    Json of_entry = entry_figures(shown, entry).object();
    of_entry["operations"] = count_figures(entry.reading).json();
    of_entry["kernels"] = kernel_figures(shown, entry.reading).json();
    of_entry["blocks"] = sum_figures(entry.ledger.summary(), "block").json();
    of_entry["range_checks"] = check_figures(entry).first.json();
    if (instructions) of_entry["results"] = row_figures(entry.ledger, entry.ledger.rows()).json();
    json["entries"].push_back(std::move(of_entry));
  }
  return json;
}

std::string program_page(const ShownProgram& shown, const std::string& more) {
  std::string body = html_lines(head_figures(shown).front().facts());
  for (const ShownEntry& entry : shown.entries) body += entry_html(shown, entry);
  return html_page(shown.name, body + more);
}

}  // namespace psm::cmd
