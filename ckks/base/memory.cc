#include "ckks/base/memory.h"

#include <cstdio>
#include <cstring>
#include <memory>

namespace psm {
namespace {

// A line "Key:   123 kB" of a file of /proc.
uint64_t kibibytes(const char* path, const char* key) {
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Closer> file(std::fopen(path, "r"));
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

}  // namespace

uint64_t peak_resident_bytes() { return kibibytes("/proc/self/status", "VmHWM"); }
uint64_t current_resident_bytes() { return kibibytes("/proc/self/status", "VmRSS"); }
uint64_t available_memory_bytes() { return kibibytes("/proc/meminfo", "MemAvailable"); }

}  // namespace psm
