// What code that holds secrets takes: marks, wiping, and no image of the process on the disk when it dies.
//
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

// Overwrites `bytes` bytes with zeros. The compiler may not leave this out.
void secure_zero(void* data, size_t bytes);

// The first call of a command that holds a secret. From here on the system writes no core file of this process, hands
// none to a collecting program, and lets no other process of its user attach to it. Throws Error if the system refuses.
void forbid_core_dumps();

}  // namespace psm
