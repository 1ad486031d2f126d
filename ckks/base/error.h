// What can go wrong, and how it is said.
//
// Two kinds, never mixed:
//   * a mistake of a user or a file throws psm::Error: one line that says what is wrong, why, and what to do.
//     A command prints it as "error: ..." and exits with its code (2 = bad usage or bad input, 1 = the run
//     itself failed);
//   * a broken invariant of our own stops the process at once with its values: PSM_CHECK(a == b, "...").
#pragma once

#if __cplusplus < 202002L
#error "PowerSoftmax is C++20: compile with -std=c++20 (Bazel: build --cxxopt=-std=c++20)"
#endif

#include <bit>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

static_assert(std::endian::native == std::endian::little,
              "files and pipes have numbers as they lie in memory");

namespace psm {

class Error : public std::runtime_error {
 public:
  enum class Kind { kBadInput = 2, kFailed = 1 };
  explicit Error(const std::string& message, Kind kind = Kind::kBadInput)
      : std::runtime_error(one_line(message)), kind_(kind) {}
  Kind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  // Messages quote names and texts from files: control characters become '?', and very long messages are cut.
  static std::string one_line(std::string message);

  Kind kind_;
};

// Appends a part of a message: a text, a character or a number with up to six digits.
void append(std::string& out, std::string_view text);
void append(std::string& out, char c);
void append(std::string& out, int value);
void append(std::string& out, double value);
template <typename Integer>
requires std::is_integral_v<Integer>
void append(std::string& out, Integer value) { out += std::to_string(value); }

// Joins its arguments into one string: throw Error(message("layer ", i, ": ...")).
template <typename... Parts>
std::string message(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// Returns what `action` returns. Its Error goes on with `what` in front.
template <typename Action>
auto prefixed(const std::string& what, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(message(what, ": ", error.what()), error.kind());
  }
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& values);

}  // namespace psm

// Checks an invariant of our own code, in optimised builds too. The message is built only on failure.
#define PSM_CHECK(condition, ...)                                                                         \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]]                                                                        \
      ::psm::check_failed(#condition, __FILE__, __LINE__, ::psm::message("" __VA_OPT__(, ) __VA_ARGS__)); \
  } while (0)
