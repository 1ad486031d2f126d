#include "ckks/base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

namespace psm {
namespace {

struct Closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Closer>;

// A line "Key:   123 kB" of a file of /proc.
uint64_t kibibytes(const char* path, const char* key) {
  const File file(std::fopen(path, "re"));
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
  const File file(std::fopen(path, "re"));
  unsigned long long value = 0;
  return file && std::fscanf(file.get(), "%llu", &value) == 1 ? value : 0;
}

// The number in a line "key 123" of such a file.
uint64_t number_of(const std::string& path, const char* key) {
  const File file(std::fopen(path.c_str(), "re"));
  char name[64];
  unsigned long long value = 0;
  while (file && std::fscanf(file.get(), "%63s %llu", name, &value) == 2) {
    if (std::strcmp(name, key) == 0) return value;
  }
  return 0;
}

}  // namespace

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

uint64_t control_group_available_bytes(const char* folder) {
  const std::string at = folder;
  const uint64_t limit = number((at + "/memory.max").c_str());
  if (limit == 0) return UINT64_MAX;
  const uint64_t files =
      number_of(at + "/memory.stat", "inactive_file") + number_of(at + "/memory.stat", "active_file");
  const uint64_t current = number((at + "/memory.current").c_str());
  const uint64_t used = current - std::min(current, files);
  return limit - std::min(limit, used);
}

uint64_t peak_resident_bytes() { return kibibytes("/proc/self/status", "VmHWM"); }
uint64_t current_resident_bytes() { return kibibytes("/proc/self/status", "VmRSS"); }
uint64_t available_memory_bytes() {
  uint64_t available = kibibytes("/proc/meminfo", "MemAvailable");
  const auto limit_to = [&](uint64_t limit, uint64_t used) {
    available = std::min(available, limit > used ? limit - used : 0);
  };
  available = std::min(available, control_group_available_bytes("/sys/fs/cgroup"));  // of a container
  // The address space of this process (ulimit -v).
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    limit_to(address_space.rlim_cur, kibibytes("/proc/self/status", "VmSize"));
  }
  return available;
}

}  // namespace psm
