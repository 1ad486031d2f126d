// Marks of what is secret, for a tool that follows secrets through the compiled code. Under valgrind's
// memcheck, secret memory counts as undefined, and so does everything computed from it. Memcheck then reports
// every branch and every address that depends on it (A. Langley, "ctgrind", 2010). Without that tool a mark
// is a few instructions that change nothing. //ckks/scheme/client:secret_flow_test runs it.
#pragma once

#include <cstddef>

namespace psm {

// From here on this memory counts as secret.
void mark_secret(const void* data, size_t bytes);
// From here on this memory may be seen, although it was computed from secrets. For published values, and for
// exceptions that say why.
void mark_public(const void* data, size_t bytes);

template <typename T>
T declassify(T value) {
  mark_public(&value, sizeof value);
  return value;
}

}  // namespace psm
