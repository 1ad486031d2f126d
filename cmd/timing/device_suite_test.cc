#include "cmd/timing/device_suite.h"

#include "ckks/device/emulated_device.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("the device suite counts what was launched and compares bits") {
  const ckks::Context context(ckks::insecure_bootstrappable(10));
  ckks::EmulatedDevice device;
  const std::vector<DeviceRow> rows = device_suite(context, device, {.repetitions = 2});
  REQUIRE(rows.size() == 3);
  for (const DeviceRow& row : rows) {
    CAPTURE(row.name);
    CHECK(row.same_bits);
    CHECK(row.least_ms > 0);
    CHECK(row.least_ms <= row.median_ms);
    CHECK(row.total.work.bytes > 0);
    Json json = row.json();
    CHECK(json["launches"].number("launches") == static_cast<double>(row.total.launches));
  }
  CHECK(rows[0].total.launches == 8);
  CHECK(rows[1].total.launches == 9);  // the products of the two ciphertexts before it
  CHECK(rows[2].total.launches > 50 * rows[0].total.launches);
  // The prediction is the sum of its parts: at least the time of all bytes, and of all launches.
  const double least = 1e3 * (static_cast<double>(rows[2].total.work.bytes) / 4.3e12 +
                              static_cast<double>(rows[2].total.launches) * 2e-6);
  CHECK(rows[2].predicted_ms >= 0.999 * least);
}

}  // namespace
}  // namespace psm::cmd
