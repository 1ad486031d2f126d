// Doctest, and what tests ask besides.
#pragma once

#include <cstdio>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/testing/worse.h"
#include "doctest/doctest.h"

namespace psm {

// Says that a tool, a file or a permission is missing. .ci/run counts a test with such a line as skipped.
inline void say_skipped(const std::string& why) { std::printf("skipped: %s\n", why.c_str()); }

// Sanitisers lock no memory and map too much to search, so cases that look at memory itself are skipped under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

// Counts the places at which `part`, which is not empty, begins.
inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A text with `to` in place of the first `from`, which must be in it.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The message of the Error that body() throws; empty if it throws none. Checks the error's exit code, if one is given.
template <typename Body>
std::string refusal_of(const Body& body, int exit_code = 0) {
  try {
    body();
  } catch (const Error& error) {
    if (exit_code != 0) CHECK(error.exit_code() == exit_code);
    return error.what();
  }
  return "";
}

// What run() returns, checked to be the same for one thread, two and three.
template <typename Run>
auto same_for_any_threads(const Run& run) {
  const int before = thread_count();
  set_thread_count(1);
  const auto result = run();
  for (const int threads : {2, 3}) {
    CAPTURE(threads);
    set_thread_count(threads);
    const bool same = run() == result;
    CHECK(same);
  }
  set_thread_count(before);
  return result;
}

}  // namespace psm

// Checks that an expression is refused: it throws an Error whose message contains `why`.
#define CHECK_REFUSED(expression, why) \
  CHECK_THROWS_WITH_AS(expression, doctest::Contains(std::string(why).c_str()), psm::Error)
