#include "ckks/base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace psm {
namespace {

// Returns the number after the word `key` in a file of the system; without a key, the number that the file begins with.
// 0 if it is missing or "max".
uint64_t number_in(const std::string& path, std::string_view key = {}) {
  std::ifstream file(path);
  for (std::string word; word != key && file >> word;) {
  }
  uint64_t value = 0;
  return file >> value ? value : 0;
}

// This process's control group: "/" at the root of a container, empty if the system does not tell.
std::string control_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return "";
}

uint64_t kibibytes(const char* path, const char* key) { return 1024 * number_in(path, key); }

}  // namespace

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

uint64_t control_group_available_bytes(const std::string& root, std::string group) {
  uint64_t available = UINT64_MAX;
  for (;; group.erase(group.rfind('/'))) {
    const std::string at = root + group;
    const uint64_t limit = number_in(at + "/memory.max"), current = number_in(at + "/memory.current");
    const uint64_t files =
        number_in(at + "/memory.stat", "inactive_file") + number_in(at + "/memory.stat", "active_file");
    const uint64_t used = current - std::min(current, files);
    if (limit > 0) available = std::min(available, limit - std::min(limit, used));
    if (group.empty()) return available;
  }
}

uint64_t peak_resident_bytes() { return kibibytes("/proc/self/status", "VmHWM:"); }
uint64_t current_resident_bytes() { return kibibytes("/proc/self/status", "VmRSS:"); }
uint64_t available_memory_bytes(int processes) {
  uint64_t available = kibibytes("/proc/meminfo", "MemAvailable:");
  if (available == 0) available = UINT64_MAX;  // not told
  available = std::min(available, control_group_available_bytes("/sys/fs/cgroup", control_group()));
  // The address space of this process (ulimit -v).
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    const uint64_t limit = address_space.rlim_cur, used = kibibytes("/proc/self/status", "VmSize:");
    available = std::min(available, limit - std::min(limit, used));
  }
  return available == UINT64_MAX ? 0 : std::max(available / static_cast<uint64_t>(processes), uint64_t{1});
}

}  // namespace psm
