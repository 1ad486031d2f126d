// The beginning and end of every command.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

// A command's flags, with those of all commands: --threads and, if it has figures, --json.
class Command : public Flags {
 public:
  enum class Writes { kJson, kNothing };
  Command(std::string usage, std::string description, Writes writes = Writes::kJson);

  // An action of a flag once it is read; begin() calls it.
  void when_read(std::function<void()> action) { actions_.push_back(std::move(action)); }
  // Parses the command line. Throws Error that names the first flag of `needed` that was not given.
  void begin(int argc, char** argv, std::initializer_list<const char*> needed = {});
  // Throws Error unless this flag was given.
  void require(const char* name) const;
  // The flags that are declared last.
  int64_t threads() const { return *threads_; }
  const std::string& json_path() const { return *json_path_; }
  // Writes all figures if --json was given.
  void write_json(const Json& json) const;

 private:
  const Writes writes_;
  std::vector<std::function<void()>> actions_;
  const int64_t* threads_ = nullptr;
  const std::string* json_path_ = nullptr;
};

// A command's main function (run_command(), run_secret_command()).
int run(int (*command)(int, char**), int argc, char** argv);
int run_secret(int (*command)(int, char**), int argc, char** argv);

double seconds_now();  // a steady clock

}  // namespace psm::cmd
