#include "ckks/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace psm {

void check_failed(const char* condition, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s %s\n", file, line, condition, values.c_str());
  std::abort();
}

}  // namespace psm
