// Seconds that a launch log would take, by rates that a caller states: for each program the longer of its bytes
// and its products, and so much for each launch,
//
//     sum over programs of max(bytes / B, products / M) + launches L.
//
// A prediction, not a measurement: caches serve some of the bytes, and no kernel reaches all of a rate.
#pragma once

#include "ckks/device/device.h"

namespace psm::ckks {

struct DeviceRates {
  double bytes_per_second;     // B, of copying
  double products_per_second;  // M, of residues modulo a prime of 50 bits
  double seconds_per_launch;   // L
};

// An NVIDIA H200 by its data sheet's clock and multipliers, nothing of it measured here: 4.3 TB/s is what
// copies reach of its memory, 10^12 products a second is what 132 multiprocessors of 64 integer multipliers
// at 1.98 GHz make when a product with a root takes some sixteen of them, launches follow each other in 2 us.
constexpr DeviceRates kH200ByDataSheet{4.3e12, 1e12, 2e-6};

double predicted_seconds(const LaunchLog& log, const DeviceRates& rates);

}  // namespace psm::ckks
