#include "ckks/base/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "ckks/base/error.h"

namespace psm {

void forbid_core_dumps() {
  // Both: a collector that the kernel pipes core files to is given them whatever the limit, and the other
  // setting is lost where a program is executed.
  const rlimit none{0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &none) != 0) {
    throw Error(message("cannot forbid core dumps of a process that holds a secret: ", std::strerror(errno)),
                Error::Kind::kFailed);
  }
}

}  // namespace psm
