#include "cmd/reports/program_report.h"

#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

// One entry point, "pass".
program::ProgramFile file_of(const ckks::Context& context, program::Program program,
                             const program::CostModel& costs) {
  program::ProgramFile file;
  file.spec = context.spec();
  file.entries.emplace_back();
  file.entries[0].name = "pass";
  file.entries[0].plan = program::plan(std::move(program), costs);
  return file;
}

// Two layers with a bootstrap, a map and a name that nobody should trust. `predicts`: the file has errors and ranges.
std::string write_sample(const std::string& name, bool predicts) {
  const ckks::Context context(ckks::insecure_bootstrappable(10));
  const std::string path = path_of(name);
  program::ProgramWriter writer(path);
  program::Builder b(static_cast<size_t>(context.slots()), &writer.keeper());
  program::Value x = b.input("x", true, 64);
  for (const char* layer : {"layer 0 / <b>bold</b>", "layer 1 / feed-forward"}) {
    program::Builder::Scope scope(b, layer);
    x = b.multiply_plain(x, ckks::Plain(std::vector<ckks::Complex>(64, 0.75)));
    x = b.multiply_constant(x, 0.125);
    x = b.add(b.rotate_all(x, std::vector<int>{1, -2})[1], x);
    x = b.series(x, {{0.1, 0.2, 0.05, 0.3}});
    for (int i = 0; i < 5; ++i) x = b.square(x);
    x = b.refresh(x);
    b.check_range(x, -1, 0.5, std::string("of <") + layer + ">");
  }
  b.output("y", x);
  const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, {{}});
  program::ProgramFile file = file_of(context, std::move(b).finish(), program::costs_of(context, bootstraps));
  file.entries[0].keys = program::key_request(file.entries[0].plan, bootstraps);
  file.entries.push_back(file.entries[0]);
  program::EntryPoint& token = file.entries[1];
  token.name = "token";
  token.argument = "position";
  token.first = 5;
  for (const program::Instruction& i : token.plan.program.instructions) {
    if (i.opcode != program::Opcode::kMultiplyPlain || i.plain.period() != 64) continue;
    // A value of the argument for each layer.
    token.by_argument.push_back({{i.results[0], ckks::Plain(std::vector<ckks::Complex>(64, 0.5))}});
  }
  file.about["model"] = "a\tsample";
  if (predicts) {
    for (size_t v = 0; v < file.entries[0].plan.level.size(); ++v)
      file.about["predicted_errors"]["pass"].push_back(0x1p-20);
    file.about["observed_ranges"]["pass"] = Json::Array{-0.25, 0.375, -0.5, 0.75};
  }
  writer.finish(file);
  return path;
}

ShownProgram shown_of(const std::string& path, const std::string& entry = "pass") {
  return ShownProgram(program::load_program(path), std::filesystem::path(path).filename().string(), nullptr,
                      entry);
}

TEST_CASE("a name that would fill the screen is cut") {
  const std::string path = write_sample("long.program", false);
  CHECK(ShownProgram(program::load_program(path), std::string(1 << 20, 'x')).name.size() < 256);
}

TEST_CASE("the text has a head, and a line for each instruction with levels, scale and cost") {
  const ShownProgram shown = shown_of(write_sample("sample.program", false));
  const std::string text = program_text(shown);
  const program::Plan& plan = shown.entries[0].point->plan;
  REQUIRE(plan.bootstraps > 0);
  CHECK(text.starts_with("sample.program\n"));
  CHECK(contains(text, shown.program.context->describe()));
  CHECK(contains(text, "a\\tsample\n"));
  CHECK(contains(text, "on a nominal machine at N = 2^16"));
  CHECK_FALSE(contains(text, "predicted error"));
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  const std::string lines = text.substr(text.find("log2 scale"));
  CHECK(count(lines, "\n") == static_cast<int>(plan.program.instructions.size()) + 2);  // heading and rule
  CHECK(count(lines, "bootstrap ") == plan.bootstraps);
  CHECK(count(lines, "by 510") == 2);  // by -2; nothing uses the rotation by 1
  CHECK(count(lines, "number 0.125") == 2);
  CHECK(count(lines, "degree 3") == 2);
  CHECK(count(lines, "real 64") == static_cast<int>(plan.program.instructions.size()));
  CHECK_FALSE(contains(program_text(shown, false), "log2 scale"));
  CHECK(count(text, "entry point ") == 1);
  CHECK(count(text, "position") == 0);
  CHECK(count(program_text(shown_of(path_of("sample.program"), "token")), "position from 5 to 6\n") == 1);
  CHECK(count(program_text(shown_of(path_of("sample.program"), "")), "entry point ") == 2);
  CHECK_THROWS_WITH_AS(shown_of(path_of("sample.program"), "prompt"),
                       "the program has no entry point 'prompt'; it has pass, token", Error);
}

TEST_CASE("what the file predicts is shown where it fits, and left out where it does not") {
  const ShownProgram shown = shown_of(write_sample("predicts.program", true));
  const std::string text = program_text(shown);
  CHECK(count(text.substr(text.find("log2 scale")), "2^-20.0") ==
        static_cast<int>(shown.entries[0].point->plan.program.instructions.size()));
  CHECK(shown.entries[0].observed_ranges.size() == 4);
  const ShownProgram other = shown_of(path_of("predicts.program"), "token");
  CHECK_FALSE(other.entries[0].ledger.rows()[0].predicted_std.has_value());
  CHECK(other.entries[0].observed_ranges.empty());
}

TEST_CASE("the file for machines has every instruction, and costs that add up") {
  const ShownProgram shown = shown_of(write_sample("machine.program", true));
  const Json json = parse_json(program_json(shown).dump(), "json");
  const Json& entry = json.at("entries", "json").array("entries").at(0);
  const program::Plan& plan = shown.entries[0].point->plan;
  const Json::Array& results = entry.at("results", "json").array("results");
  REQUIRE(results.size() == shown.entries[0].ledger.rows().size());
  double seconds = 0;
  for (const Json& result : results) {
    seconds += result.at("predicted_seconds", "json").number("seconds");
    const auto id = static_cast<size_t>(result.at("value", "json").integer("value", 0, 1 << 20));
    CHECK(result.at("level", "json").integer("level", 0, 99) == int{plan.level[id]});
    CHECK(result.at("predicted_std", "json").number("error") == 0x1p-20);
  }
  CHECK(seconds == doctest::Approx(entry.at("seconds", "json").number("seconds")));
  // Its bootstraps are of real values, which cost less than one of all complex slots.
  const double mean = seconds * entry.at("bootstrap_share", "json").number("share") / plan.bootstraps;
  const double full = seconds / entry.at("full_bootstraps", "json").number("full");
  CHECK(mean < full);
  CHECK(mean > 0.5 * full);
  CHECK(entry.at("range_checks", "json").array("checks")[1].at("observed_hi", "json").number("hi") == 0.75);
  CHECK(json.at("digest", "json").string("digest").size() == 64);
}

TEST_CASE("the page shows each bootstrap, costs, ranges and every instruction, and no name becomes markup") {
  const ShownProgram shown = shown_of(write_sample("page.program", true));
  const program::Plan& plan = shown.entries[0].point->plan;
  const std::string page = program_page(shown);
  CHECK(count(page, "<svg") == 1);
  CHECK(count(page, "class=\"panel\"") == 3);  // levels, errors, seconds
  CHECK(count(page, "stroke-dasharray=\"2 3\"") == 3 * plan.bootstraps);
  CHECK(count(page, "<h2>") == 1);
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "http") == 1);  // the namespace of SVG
  CHECK(count(page, "nan") == 0);
  CHECK(count(page, "<b>") == 0);
  CHECK(count(page, "&lt;b&gt;bold&lt;/b&gt;") > 3);
  CHECK(contains(page, "2 ranges, 1 observed beyond the interval"));
  CHECK(count(page, ">beyond: -0.5 to 0.75<") == 1);
  CHECK(count(page, ">-0.25 to 0.375<") == 1);
  const std::string lines = page.substr(page.find("<details>"));
  CHECK(count(lines, ">real 64</td>") == static_cast<int>(plan.program.instructions.size()));
  CHECK(count(program_page(shown_of(path_of("page.program"), "token")), ">predicted error<") == 0);
}

TEST_CASE("a program that only hands on its input is shown") {
  const ckks::Context context(ckks::insecure_leveled(10, 3));
  program::ProgramWriter writer(path_of("idle.program"));
  program::Builder b(static_cast<size_t>(context.slots()), &writer.keeper());
  const program::Value x = b.input("x");
  b.check_range(x, -1, 1, "anything");
  b.output("x", x);
  program::ProgramFile file = file_of(context, std::move(b).finish(), program::CostModel(context.chain()));
  file.about["observed_ranges"]["pass"] = Json::Array{-1.0, 1.0};
  writer.finish(file);
  const std::string page = program_page(shown_of(path_of("idle.program"), ""));
  CHECK(count(page, "nan") == 0);
}

TEST_CASE("a long program is drawn in rows, each instruction once") {
  const ckks::Context context(ckks::insecure_leveled(10, 3));
  program::ProgramWriter writer(path_of("long.program"));
  program::Builder b(static_cast<size_t>(context.slots()), &writer.keeper());
  program::Value x = b.input("x");
  for (int layer = 0; layer < 25; ++layer) {
    program::Builder::Scope scope(b, message("layer ", layer));
    for (int i = 0; i < 100; ++i) x = b.add(x, x);
  }
  b.output("y", x);
  program::ProgramFile file = file_of(context, std::move(b).finish(), program::CostModel(context.chain()));
  writer.finish(file);
  const std::string page = program_page(shown_of(path_of("long.program"), ""));
  CHECK(count(page, ">layer 3</text>") == 1);  // where it fits
  CHECK(count(page, "class=\"frame\"") == 3 + 1);
  CHECK(count(page.substr(page.find("<details>")), "<tr><td>2500</td>") == 1);
}

TEST_CASE("the command prints, writes, and refuses what is no program") {
  write_sample("command.program", false);
  const std::string show = "show --program " + path_of("command.program");
  CHECK(contains(output_of(show + " --entry token"), "entry point token"));
  CHECK(output_of(show + " --json " + path_of("j.json")).empty());
  CHECK(read_file(path_of("j.json"), 1 << 24).starts_with("{"));
  CHECK(output_of(show + " --text --html " + path_of("h.html")).starts_with("command.program\n"));
  CHECK(read_file(path_of("h.html"), 1 << 24).starts_with("<!DOCTYPE html>"));
  std::string damaged = read_file(path_of("command.program"), 1 << 24);
  damaged[damaged.size() - 9] ^= 1;
  write_file(path_of("damaged.program"), damaged);
  check_refused("show --program " + path_of("damaged.program"), "it is damaged");
  check_refused("show --program " + path_of("j.json"), "it is not a program");
  check_refused(show + " --entry prompt", "it has pass, token");
  check_refused(show + " --ranks 3 --link fast", "--link fast is no link");
}

TEST_CASE("ranks are predicted, from the seconds of one process on, and drawn in lanes") {
  write_sample("ranks.program", false);
  const Json json = figures_of("show --program " + path_of("ranks.program") +
                               " --entry pass --ranks 3 --link 2us,100GbE --html " + path_of("ranks.html"));
  const Json& pass = json.at("ranks", "json").at("pass", "json");
  const Json::Array& counts = pass.at("ranks_0", "json").at("rows", "json").array("rows");
  REQUIRE(counts.size() == 7);
  const double alone = number_in(json.at("entries", "json").array("entries")[0], "seconds");
  CHECK(number_in(counts[0], "seconds") == doctest::Approx(alone));
  for (size_t i = 1; i < counts.size(); ++i) {
    const double seconds = number_in(counts[i], "seconds");
    CHECK(seconds <= number_in(counts[i - 1], "seconds"));
    CHECK(seconds >= number_in(counts[i], "critical_seconds") * (1 - 1e-9));
  }
  CHECK(pass.at("by_rank", "json").at("rows", "json").array("rows").size() == 3);
  const std::string page = read_file(path_of("ranks.html"), 1 << 22);
  CHECK(contains(page, ">rank 2</text>"));
  CHECK_FALSE(contains(page, ">rank 3</text>"));
  CHECK(contains(page, ">as fast as one<"));  // the plot
  CHECK(contains(page, "bootstrap [layer 0 / &lt;b&gt;bold"));
  check_refused("show", "--program is needed");
}

}  // namespace
}  // namespace psm::cmd
