#include "ckks/base/files/flags.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <numeric>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/interruption.h"
#include "ckks/base/secrecy.h"

namespace psm {
namespace {

constexpr char kVersion[] = "powersoftmax 0.1.0\n";  // as in MODULE.bazel, which no program reads

// Levenshtein distance: insertions, deletions and substitutions between two words.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

template <typename Number>
Number parse_number(const std::string& name, const std::string& text, Number lo, Number hi,
                    const char* kind) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end || !(value >= lo && value <= hi)) {
    throw Error(message("--", name, " takes ", kind, " from ", lo, " to ", hi, ", not '", text, "'"));
  }
  return value;
}

// The text in lines that fit 100 columns, each after `indent` spaces. Its own lines stay lines.
std::string wrapped(const std::string& text, size_t indent) {
  const size_t columns = 100 - indent;
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    for (size_t end; line.size() > columns && (end = line.rfind(' ', columns)) != std::string::npos;
         line.erase(0, end + 1))
      out += std::string(indent, ' ') + line.substr(0, end) + "\n";
    out += std::string(line.empty() ? 0 : indent, ' ') + line + "\n";
  }
  return out;
}

// The exit code once what was printed has left the process.
int with_output_written(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(
      stderr,
      "error: standard output did not take all of the answer: its disk is full, or its reader is gone\n");
  return code == 0 ? 1 : code;
}

[[noreturn]] void print_and_leave(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::exit(with_output_written(0));
}

// What an error quotes, a word or a file, may be anybody's: it is shown as visible().
int exit_code_of(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Interrupted& stopped) {
    std::fflush(stdout);
    std::fprintf(stderr, "interrupted: %s\n", visible(stopped.what()).c_str());
    return end_by_interruption();
  } catch (const Error& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", visible(error.what()).c_str());
    return error.exit_code();
  } catch (const std::filesystem::filesystem_error& error) {
    // A folder that cannot be made or a path that cannot be looked at: what the user named.
    std::fprintf(stderr, "error: cannot use %s: %s\n", visible(error.path1().native()).c_str(),
                 error.code().message().c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", visible(error.what()).c_str());
    return 1;
  }
}

}  // namespace

Flags::Flags(std::string usage, std::string description)
    : usage_(std::move(usage)), description_(std::move(description)) {}

template <typename Value>
const Value& Flags::add(const std::string& name, const std::string& help, const std::string& shown_default,
                        Value value, std::function<Value(const std::string&)> read) {
  PSM_CHECK(find(name) == nullptr, name);
  Flag& flag = flags_.emplace_back(Flag{name, help, shown_default, std::move(value)});
  Value& slot = std::get<Value>(flag.value);
  flag.assign = [&slot, read = std::move(read)](const std::string& text) { slot = read(text); };
  return slot;
}

const std::string& Flags::text(const std::string& name, const std::string& value, const std::string& help) {
  return add<std::string>(name, help, value, value, [](const std::string& text) { return text; });
}

const std::string& Flags::output(const std::string& name, const std::string& help, Output kind,
                                 const std::string& value) {
  const std::string& slot = text(name, value, help);
  flags_.back().output = kind;
  return slot;
}

const int64_t& Flags::integer(const std::string& name, int64_t value, int64_t lo, int64_t hi,
                              const std::string& help) {
  return add<int64_t>(name, help, std::to_string(value), value, [=](const std::string& text) {
    return parse_number(name, text, lo, hi, "a whole number");
  });
}

const double& Flags::number(const std::string& name, double value, double lo, double hi,
                            const std::string& help) {
  return add<double>(name, help, message(value), value,
                     [=](const std::string& text) { return parse_number(name, text, lo, hi, "a number"); });
}

const bool& Flags::truth(const std::string& name, bool value, const std::string& help) {
  return add<bool>(name, help, value ? "true" : "false", value, [=](const std::string& text) {
    if (text != "true" && text != "false")
      throw Error(message("--", name, " takes true or false, not '", text, "'"));
    return text == "true";
  });
}

const std::vector<std::string>& Flags::words(const std::string& name, size_t min, size_t max,
                                             const std::string& help) {
  words_name_ = name, words_help_ = help, words_min_ = min, words_max_ = max;
  return words_;
}

Flags::Flag* Flags::find(const std::string& name) {
  for (Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

bool Flags::given(const std::string& name) const {
  const Flag* flag = const_cast<Flags*>(this)->find(name);
  PSM_CHECK(flag != nullptr, name);
  return flag->given;
}

void Flags::parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") print_and_leave(help());
    if (word == "--version") print_and_leave(kVersion);
    if (word.rfind("--", 0) != 0) {
      if (words_.size() == words_max_) throw Error(message("unexpected '", word, "'; see --help"));
      words_.push_back(word);
      continue;
    }
    word.erase(0, 2);
    std::string value;
    bool has_value = false;
    if (const size_t equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1), word.resize(equals), has_value = true;
    }
    Flag* flag = find(word);
    if (flag == nullptr && !has_value && word.rfind("no-", 0) == 0) {
      flag = find(word.substr(3));
      if (flag != nullptr && !flag->is_truth()) flag = nullptr;
      value = "false", has_value = flag != nullptr;
    }
    if (flag == nullptr) {
      std::string hint = "; see --help";
      size_t best = std::min<size_t>(4, word.size() / 2 + 1);  // farther is no likeness
      for (const Flag& candidate : flags_) {
        const size_t distance = edit_distance(word, candidate.name);
        if (distance < best) best = distance, hint = message("; did you mean --", candidate.name, "?");
      }
      throw Error(message("unknown flag --", word, hint));
    }
    if (flag->given) throw Error(message("--", flag->name, " is given twice"));
    if (!has_value) {
      if (flag->is_truth()) {
        value = "true";
      } else if (i + 1 < argc) {
        value = argv[++i];
      } else {
        throw Error(message("--", flag->name, " needs a value; see --help"));
      }
    }
    if (value.empty() && flag->text() && flag->text()->empty())
      throw Error(message("--", flag->name, " is empty; give it a value, or leave it out"));
    flag->assign(value);
    flag->given = true;
  }
  if (words_.size() < words_min_) throw Error(message("missing ", words_name_, ": ", words_help_));
  for (const Flag& flag : flags_) {
    if (flag.output && (flag.given || !flag.text()->empty())) check_output(flag);
  }
}

void Flags::check_output(const Flag& flag) const {
  const std::string path = resolve_user_path(*flag.text());
  for (const Flag& other : flags_) {
    if (&other == &flag || !other.given || !other.text()) continue;
    const std::string its = resolve_user_path(*other.text());
    // A word that is no output and no file, such as a family, may be the output's name.
    std::error_code failed;  // where neither is there
    const auto place = [&](const std::string& name) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(name, failed), failed);
    };
    const std::filesystem::path here = place(path);  // empty if the system does not say
    if ((other.output && (path == its || (!here.empty() && here == place(its)))) ||
        std::filesystem::equivalent(path, its, failed))
      throw Error(message("--", flag.name, " and --", other.name, " are the same, ", *flag.text(),
                          "; give --", flag.name, " another name"));
  }
  if (flag.output == Output::kFile) AtomicFile probe(path);
  if (flag.output == Output::kFolder) require_writable_folder(path);
}

std::string Flags::help() const {
  constexpr size_t kIndent = 8;
  std::string out = wrapped(description_, 0) + "\nusage: " + usage_ + "\n\n";
  if (words_max_ > 0) out += "  " + words_name_ + "\n" + wrapped(words_help_, kIndent);
  for (const Flag& flag : flags_) {
    const std::string value = flag.shown_default.empty() ? "" : " (default " + flag.shown_default + ")";
    out += "  --" + flag.name + "\n" + wrapped(flag.help + value, kIndent);
  }
  return out + "  --help\n        prints this\n  --version\n        prints the version\n";
}

int run_command(const std::function<int()>& body) {
  // Who reads a pipe or a file sees lines as they come, as on a terminal.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::signal(SIGPIPE, SIG_IGN);
  return with_output_written(exit_code_of(body));
}

int run_secret_command(const std::function<int()>& body) {
  return run_command([&] {
    forbid_core_dumps();
    return body();
  });
}

}  // namespace psm
