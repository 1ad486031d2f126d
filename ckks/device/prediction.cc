#include "ckks/device/prediction.h"

#include <algorithm>

namespace psm::ckks {

double predicted_seconds(const LaunchLog& log, const DeviceRates& rates) {
  double seconds = 0;
  for (const auto& [name, entry] : log.programs) {
    seconds += std::max(static_cast<double>(entry.work.bytes) / rates.bytes_per_second,
                        static_cast<double>(entry.work.products) / rates.products_per_second) +
               static_cast<double>(entry.launches) * rates.seconds_per_launch;
  }
  return seconds;
}

}  // namespace psm::ckks
