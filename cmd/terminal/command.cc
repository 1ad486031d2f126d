#include "cmd/terminal/command.h"

#include <chrono>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"

namespace psm::cmd {

Command::Command(std::string usage, std::string description, Writes writes)
    : Flags(std::move(usage), std::move(description)), writes_(writes) {}

void Command::begin(int argc, char** argv, std::initializer_list<const char*> needed) {
  threads_ = &integer("threads", 0, 0, 256, "threads to compute with; 0: one for each processor");
  if (writes_ == Writes::kJson) json_path_ = &output("json", "write all figures to this file");
  parse(argc, argv);
  if (threads() > 0) set_thread_count(static_cast<int>(threads()));
  for (const auto& action : actions_) action();
  for (const char* name : needed) require(name);
}

void Command::require(const char* name) const {
  if (!given(name)) throw Error(message("--", name, " is needed; see --help"));
}

void Command::write_json(const Json& json) const {
  if (!json_path().empty()) write_file(resolve_user_path(json_path()), json.dump() + "\n");
}

int run(int (*command)(int, char**), int argc, char** argv) {
  return run_command([&] { return command(argc, argv); });
}

int run_secret(int (*command)(int, char**), int argc, char** argv) {
  return run_secret_command([&] { return command(argc, argv); });
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace psm::cmd
