#include "ckks/base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace psm {
namespace {

struct Closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Closer>;

// A line "Key:   123 kB" of a file of /proc.
uint64_t kibibytes(const char* path, const char* key) {
  const File file(std::fopen(path, "r"));
  if (!file) return 0;
  char line[256];
  const size_t length = std::strlen(key);
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    unsigned long long value = 0;
    if (std::strncmp(line, key, length) == 0 && line[length] == ':' &&
        std::sscanf(line + length + 1, "%llu", &value) == 1) {
      return value * 1024;
    }
  }
  return 0;
}

// A file that holds one number; 0 where it is missing or says "max".
uint64_t number(const char* path) {
  const File file(std::fopen(path, "r"));
  unsigned long long value = 0;
  return file && std::fscanf(file.get(), "%llu", &value) == 1 ? value : 0;
}

}  // namespace

uint64_t peak_resident_bytes() { return kibibytes("/proc/self/status", "VmHWM"); }
uint64_t current_resident_bytes() { return kibibytes("/proc/self/status", "VmRSS"); }
uint64_t available_memory_bytes() {
  uint64_t available = kibibytes("/proc/meminfo", "MemAvailable");
  const auto limit_to = [&](uint64_t limit, uint64_t used) {
    available = std::min(available, limit > used ? limit - used : 0);
  };
  // A container's own limit, where it has one (control groups, version 2).
  const uint64_t group_limit = number("/sys/fs/cgroup/memory.max");
  if (group_limit > 0) limit_to(group_limit, number("/sys/fs/cgroup/memory.current"));
  // The address space of this process (ulimit -v).
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    limit_to(address_space.rlim_cur, kibibytes("/proc/self/status", "VmSize"));
  }
  return available;
}

}  // namespace psm
