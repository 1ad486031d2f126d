// The lessons' output: a title, sections that begin with a sentence, and lines of a name and its values.
// lessons_test.cc reads them back. Also the way around a function that the reader has not written yet.
#pragma once

#include <unistd.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm {

// A lesson uses this namespace, and the names of other namespaces without their prefix.
namespace approx {}
namespace attention {}
namespace cmd {}
namespace ckks {}
namespace lesson {
using namespace psm;
using namespace approx;
using namespace attention;
using namespace cmd;
using namespace ckks;
}  // namespace lesson

}  // namespace psm

namespace psm::lesson {

inline void title(const char* text) { std::printf("\n%s\n", text); }

// `shows`: one sentence on what its figures show.
inline void section(const char* text, const char* shows) {
  std::printf("\n== %s\n   %s\n", text, shows);
}

inline void say(const std::string& text) {
  std::printf("   %s\n", text.c_str());
  std::fflush(stdout);
}

// Every lesson on ciphertexts begins with this.
inline void say_insecure(const std::string& parameters) {
  say(parameters);
  say("A ring this small offers no security; it is for reading along.");
}

// "2^-23.1", of an error or a scale; 0 has no logarithm.
inline std::string bits(double x, const char* pattern = "2^%.1f") {
  return x > 0 ? cmd::format(pattern, std::log2(x)) : "0";
}

template <typename T>
std::string cell(const T& value) {
  return message(value);
}
inline std::string cell(bool holds) { return holds ? "yes" : "NO"; }
inline std::string cell(double x) { return cmd::format("%.5f", x); }
inline std::string cell(std::complex<double> z) {
  return cmd::format("%.4f", z.real()) + cmd::format("%+.4fi", z.imag());
}

// Where a lesson leaves a file, apart for each user of the machine.
inline std::string temporary_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / message(name, "_", ::getuid());
}

// The seconds of a piece of work.
template <typename Work>
double seconds(Work&& work) {
  const double start = seconds_now();
  work();
  return seconds_now() - start;
}

// A name and its values, in columns of one width.
template <typename T>
void row(const std::string& name, const std::vector<T>& values, int width = 5) {
  std::printf("   %-34s", name.c_str());
  for (const T& value : values) std::printf(" %*s", width, cell(value).c_str());
  std::printf("\n");
  std::fflush(stdout);
}

template <typename... Values>
void line(const std::string& name, const Values&... values) {
  row(name, std::vector<std::string>{cell(values)...}, sizeof...(values) > 4 ? 10 : 12);
}

// Functions in exercises/ throw this until the reader writes them.
struct ToDo {
  const char* function;
};

// Runs a part of a lesson that calls the reader's function, or says what is to do.
template <typename Part>
void with_exercise(Part&& part) {
  try {
    part();
  } catch (const ToDo& todo) {
    say(std::string("TO DO: write ") + todo.function);
  }
}

}  // namespace psm::lesson
