// The beginning and end of every command.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"
#include "ckks/base/parallel.h"

namespace psm::cmd {

// A command's flags, with those of all commands: --threads and, if it has figures, --json.
class Command : public Flags {
 public:
  enum class Writes { kJson, kNothing };
  Command(std::string usage, std::string description, Writes writes = Writes::kJson)
      : Flags(std::move(usage), std::move(description)), writes_(writes) {}

  // An action of a flag once it is read; begin() calls it.
  void when_read(std::function<void()> action) { actions_.push_back(std::move(action)); }
  // Parses the command line. Throws Error that names the first flag of `needed` that was not given.
  void begin(int argc, char** argv, std::initializer_list<const char*> needed = {}) {
    threads_ = &integer("threads", 0, 0, 256, "threads to compute with; 0: one for each processor");
    if (writes_ == Writes::kJson) json_path_ = &output("json", "write all figures to this file");
    parse(argc, argv);
    if (threads() > 0) set_thread_count(static_cast<int>(threads()));
    for (const auto& action : actions_) action();
    for (const char* name : needed) require(name);
  }
  // Throws Error unless this flag was given.
  void require(const char* name) const {
    if (!given(name)) throw Error(message("--", name, " is needed; see --help"));
  }
  // The flags that are declared last.
  int64_t threads() const { return *threads_; }
  const std::string& json_path() const { return *json_path_; }
  // Writes all figures if --json was given.
  void write_json(const Json& json) const {
    if (!json_path().empty()) write_file(resolve_user_path(json_path()), json.dump() + "\n");
  }

 private:
  const Writes writes_;
  std::vector<std::function<void()>> actions_;
  const int64_t* threads_ = nullptr;
  const std::string* json_path_ = nullptr;
};

// A command's main function (run_command(), run_secret_command()).
inline int run(int (*command)(int, char**), int argc, char** argv) {
  return run_command([&] { return command(argc, argv); });
}
inline int run_secret(int (*command)(int, char**), int argc, char** argv) {
  return run_secret_command([&] { return command(argc, argv); });
}

}  // namespace psm::cmd
