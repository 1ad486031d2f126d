#include "ckks/base/secrecy.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "ckks/base/error.h"

namespace psm {
namespace {

// A client request to valgrind's memcheck: four rotations of rdi by 128 bits in all, an exchange of rbx with
// itself, rax at the number of the request and its arguments, rdx the answer. A processor does nothing.
void memcheck(uint64_t request, const void* data, size_t bytes) {
#if defined(__x86_64__)
  const volatile uint64_t arguments[6] = {request, reinterpret_cast<uint64_t>(data), bytes, 0, 0, 0};
  uint64_t answer = 0;
  __asm__ __volatile__(
      "rol $3, %%rdi\n\trol $13, %%rdi\n\trol $61, %%rdi\n\trol $51, %%rdi\n\txchg %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(arguments)
      : "cc", "memory");
#else
  (void)request, (void)data, (void)bytes;
#endif
}

// "MC" and the number of the request: make memory undefined, make memory defined.
constexpr uint64_t kMakeUndefined = 0x4d430001, kMakeDefined = 0x4d430002;

}  // namespace

void mark_secret(const void* data, size_t bytes) { memcheck(kMakeUndefined, data, bytes); }
void mark_public(const void* data, size_t bytes) { memcheck(kMakeDefined, data, bytes); }

void secure_zero(void* data, size_t bytes) {
  if (bytes == 0) return;
  std::memset(data, 0, bytes);
  // The barrier claims to read the memory, so the stores above are not dead.
  __asm__ __volatile__("" : : "r"(data) : "memory");
}

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
