#include "train/data.h"

#include <algorithm>

namespace psm {

std::size_t Batch::scored() const {
  return static_cast<std::size_t>(
      std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; }));
}

}  // namespace psm
