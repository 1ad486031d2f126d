// Shows what a program's file holds: as text, for machines (--json), or as a page (--html).
#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/program/planning/calibrate.h"
#include "cmd/reports/ranks_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

int show(int argc, char** argv) {
  Command flags("bazel run //cmd:show -- --program NAME.program [flags]",
                "Shows what a program does, instruction by instruction, and what it costs.");
  const std::string& program_path = flags.text("program", "", "file of the program");
  const std::string& entry = flags.text("entry", "", "this entry point alone");
  const bool& text = flags.truth("text", false, "print it; so it is without --json and --html");
  const std::string& html_path = flags.output("html", "write a page to this file");
  const bool& calibrated =
      flags.truth("calibrate", false, "predict the seconds of this machine, which is timed first");
  const RanksFlags ranks(flags);
  flags.begin(argc, argv, {"program"});

  const std::string path = resolve_user_path(program_path);
  program::VerifiedProgram program = program::load_program(path);
  const program::Calibration machine =
      calibrated ? program::calibrate(*program.context) : program::Calibration{};
  const ShownProgram shown(std::move(program), std::filesystem::path(path).filename().string(),
                           calibrated ? &machine : nullptr, entry);
  const RanksReport on_ranks(shown, ranks, calibrated);
  if (text || (flags.json_path().empty() && html_path.empty())) print(program_text(shown), on_ranks.text);
  if (!flags.json_path().empty()) {
    Json json = program_json(shown);
    if (ranks.given()) json["ranks"] = on_ranks.json;
    flags.write_json(json);
  }
  if (!html_path.empty()) {
    write_file(resolve_user_path(html_path), program_page(shown, on_ranks.html));
    print("wrote ", html_path, "\n");
  }
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::show, argc, argv); }
