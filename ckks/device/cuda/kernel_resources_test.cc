// What nvcc says about the kernels (cuda_device.cu): every program compiled, nothing spilled to memory, and at
// most 80 registers a thread, so that three blocks of 256 threads run on a multiprocessor at a time.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/device/programs/all_programs.h"

namespace psm::ckks {
namespace {

TEST_CASE("kernels take at most 80 registers and spill none") {
  const std::string path = runfile("ckks/device/cuda/kernels.resources");
  if (!std::filesystem::exists(path)) return say_skipped("no CUDA toolkit compiled the kernels here");
  std::ifstream file(path);
  const std::regex entry("Compiling entry function '([^']+)'"), spill("([0-9]+) bytes spill stores"),
      used("Used ([0-9]+) registers");
  std::string kernel;
  size_t kernels = 0, spills = 0;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, found, entry)) kernel = found[1];
    CAPTURE(kernel);
    if (std::regex_search(line, found, spill)) {
      CHECK(std::stoi(found[1]) == 0);
      ++spills;
    }
    if (std::regex_search(line, found, used)) {
      CHECK(std::stoi(found[1]) <= 80);
      ++kernels;
    }
  }
  CHECK(kernels == AllPrograms::kCount);
  CHECK(spills == AllPrograms::kCount);
}

}  // namespace
}  // namespace psm::ckks
