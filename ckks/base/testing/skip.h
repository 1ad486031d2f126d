// How a test says that it could not check something here.
#pragma once

#include <cstdio>
#include <string>

namespace psm {

// Says that a tool, a file or a permission is missing. .ci/run counts a test with such a line as skipped.
inline void say_skipped(const std::string& why) { std::printf("skipped: %s\n", why.c_str()); }

// Sanitisers lock no memory and map too much to search, so cases that look at memory itself are skipped under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

}  // namespace psm
