// Marks of what is secret, for a tool that follows secrets through the compiled code. Under valgrind's
// memcheck secret memory counts as undefined, and so does all that is computed from it; memcheck then reports
// every branch and every address that depends on it (the idea is A. Langley's, "ctgrind", 2010). Without that
// tool a mark is a few instructions that change nothing. //ckks/scheme/client:secret_flow_test runs it.
#pragma once

#include <cstddef>

namespace psm {

// What is in this memory is secret from here on.
void mark_secret(const void* data, size_t bytes);
// May be seen from here on, although it was computed from secrets: what is published, and exceptions, which
// say why.
void mark_public(const void* data, size_t bytes);

template <typename T>
T declassify(T value) {
  mark_public(&value, sizeof value);
  return value;
}

}  // namespace psm
