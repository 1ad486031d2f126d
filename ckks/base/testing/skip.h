// How a test says that it could not check something here, and where it need not.
#pragma once

#include <cstdio>
#include <string>

namespace psm {

// A tool, a file or a permission is missing: .ci/run counts a test that prints such a line as skipped.
inline void say_skipped(const std::string& why) { std::printf("skipped: %s\n", why.c_str()); }

// A sanitiser locks no memory and maps too much to search, so cases that look at memory itself leave it out.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

}  // namespace psm
