// Figures and names for people.
#pragma once

#include <cstddef>
#include <string>

#include "ckks/base/error.h"

namespace psm::cmd {

std::string format(const char* pattern, double value);  // printf pattern with one double
std::string percent(double fraction);                   // "97.3%"
std::string counted(size_t count, const char* noun);    // "1 prompt", "16 prompts"
std::string range_text(double lo, double hi);           // "[0.2, 125]"
std::string power_of_two_text(double value);            // "2^-12.5"; "0" of what is not positive
std::string bytes_text(double bytes);                   // "5.87 GB" (10^9)
std::string seconds_text(double seconds);               // "35 us", "1.2 ms", "43 ms", "1.24 s", "3 min 20 s"

// Prints text to the standard output, at once; the second joins its arguments first, as message() does.
void print(const std::string& text);
template <typename... Parts>
void print(const Parts&... parts) {
  print(message(parts...));
}

}  // namespace psm::cmd
