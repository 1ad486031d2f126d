#include "ckks/base/processor.h"

#include <fstream>

namespace psm {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace psm
