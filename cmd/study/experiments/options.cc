#include "cmd/study/experiments/options.h"

#include <algorithm>
#include <filesystem>

#include "ckks/base/error.h"

namespace psm::cmd {

size_t StudyOptions::steps(double flops) const {
  PSM_CHECK(flops > 0, flops);
  return std::max<size_t>(4, static_cast<size_t>(minutes * 60 * kNominalFlops / (flops * seeds)));
}

int StudyOptions::examples(int wanted) const {
  return std::max(std::min(4, wanted), static_cast<int>(wanted * std::min(1.0, minutes)));
}

std::string StudyOptions::data_file(const std::string& name) const {
  const std::string path = (std::filesystem::path(data) / name).string();
  if (!std::filesystem::exists(path))
    throw Error(message(path, " is missing; give the folder of the data with --data"));
  return path;
}

}  // namespace psm::cmd
