// The page of //cmd:study: one HTML file that carries everything, made anew from the JSON files of a folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"

namespace psm::cmd {

// One section from what runner.h writes for an experiment. Throws psm::Error that begins with `what` if the
// JSON is not of that kind.
std::string study_section(const Json& document, const std::string& what);

// The whole page of sections in their order: (name, section).
std::string study_page(const std::vector<std::pair<std::string, std::string>>& sections);

}  // namespace psm::cmd
