#include "cmd/study/report/context.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"

namespace psm::cmd {

StudyContext::StudyContext(const StudyOptions& options, Json parts, std::function<void(const Json&)> changed)
    : options_(options), parts_(std::move(parts)), changed_(std::move(changed)) {}

Json StudyContext::once(const std::string& part, const std::function<Json()>& compute) {
  if (const Json* known = parts_.find(part)) return *known;
  parts_[part] = compute();
  if (changed_) changed_(parts_);
  return parts_[part];
}

size_t StudyContext::steps(double flops, size_t least) const {
  PSM_CHECK(flops > 0, flops);
  const double steps = options_.minutes * 60 * kNominalFlops / (flops * options_.seeds);
  return std::max(least, static_cast<size_t>(steps));
}

int StudyContext::examples(int wanted) const {
  return std::max(std::min(4, wanted), static_cast<int>(wanted * std::min(1.0, options_.minutes)));
}

std::string StudyContext::training_text() const {
  return options_.text.empty() ? data_file("text/gutenberg7-train.txt") : options_.text;
}

std::string StudyContext::held_out_text() const {
  return options_.text.empty() ? data_file("text/gutenberg7-valid.txt") : options_.valid;
}

std::string StudyContext::data_file(const std::string& name) const {
  const std::string path = (std::filesystem::path(options_.data) / name).string();
  if (!std::filesystem::exists(path))
    throw Error(message(path, " is missing; give the folder of the data with --data"));
  return path;
}

std::string StudyContext::state_file(const std::string& name) const {
  const std::filesystem::path folder = std::filesystem::path(options_.out) / "state";
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(message("cannot make the folder ", folder.string(), ": ", failure.message()));
  return (folder / name).string();
}

}  // namespace psm::cmd
