// Command lines: flags declared with a default and a sentence of help, parsed strictly.
//
//     Flags flags("bazel run //cmd:keygen -- [flags]", "Generates the keys that a model needs.");
//     const std::string& model = flags.text("model", "", "checkpoint of a polynomial model");
//     const int64_t& threads = flags.integer("threads", 2, 1, 256, "threads to compute with");
//     flags.parse(argc, argv);           // prints help and exits 0 on --help
//
// Flags that name a file or folder to be written are declared as output(). Before any work begins, parse()
// refuses a file or a folder that could not be written, or an output that another flag names too.
// An output of Output::kFileOrFolder is for its command to check.
//
// Accepts --name value and --name=value; a truth flag alone means true, --no-name means false. Anything
// unknown, malformed or out of range throws psm::Error that names the flag (and the nearest known one).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace psm {

class Flags {
 public:
  Flags(std::string usage, std::string description);

  // The references stay valid while the Flags live and hold the parsed values after parse().
  const std::string& text(const std::string& name, const std::string& value, const std::string& help);
  enum class Output { kFile, kFolder, kFileOrFolder };
  const std::string& output(const std::string& name, const std::string& help, Output kind = Output::kFile,
                            const std::string& value = "");
  const int64_t& integer(const std::string& name, int64_t value, int64_t lo, int64_t hi,
                         const std::string& help);
  const double& number(const std::string& name, double value, double lo, double hi, const std::string& help);
  const bool& truth(const std::string& name, bool value, const std::string& help);
  // Words without a flag, such as the function of //cmd:approx. They are allowed only if this was called.
  const std::vector<std::string>& words(const std::string& name, size_t min, size_t max,
                                        const std::string& help);

  void parse(int argc, char** argv);
  // Was the flag on the command line?
  bool given(const std::string& name) const;
  std::string help() const;

 private:
  struct Flag {
    std::string name, help, shown_default;
    std::variant<std::string, int64_t, double, bool> value = {};
    std::function<void(const std::string&)> assign = {};
    bool given = false;
    std::optional<Output> output = {};

    const std::string* text() const { return std::get_if<std::string>(&value); }
    bool is_truth() const { return std::holds_alternative<bool>(value); }
  };
  Flag* find(const std::string& name);
  template <typename Value>
  const Value& add(const std::string& name, const std::string& help, const std::string& shown_default,
                   Value value, std::function<Value(const std::string&)> read);
  void check_output(const Flag& flag) const;

  std::string usage_, description_;
  std::deque<Flag> flags_;
  std::vector<std::string> words_;
  std::string words_name_, words_help_;
  size_t words_min_ = 0, words_max_ = 0;
};

// Runs a command's main function. Prints "error: ..." for an exception and returns the exit code. It is 1 if
// standard output did not take all that was written. A closed pipe does not end the command, so its files are
// written. An interruption (ckks/base/interruption.h) is reported and ends the process by its signal.
int run_command(const std::function<int()>& body);
// The same for a command that holds a secret (ckks/base/secrecy.h).
int run_secret_command(const std::function<int()>& body);

}  // namespace psm
