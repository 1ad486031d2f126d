#include "cmd/timing/timer.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::cmd {

Times times_of(std::vector<double> seconds) {
  PSM_CHECK(!seconds.empty());
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front()};
}

}  // namespace psm::cmd
