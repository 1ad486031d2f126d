#include "cmd/timing/device_suite.h"

#include "ckks/device/emulated_device.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("the device suite counts what would be launched, and measures and compares what is") {
  const ckks::Context context(ckks::insecure_bootstrappable(10));
  ckks::EmulatedDevice device;
  const std::vector<DeviceRow> rows = device_suite(context, &device, {.repetitions = 2}),
                               only_counted = device_suite(context, nullptr, {});
  REQUIRE(rows.size() == 4);
  REQUIRE(only_counted.size() == 4);
  const Json figures = device_figures(rows).json();
  for (size_t i = 0; i < rows.size(); ++i) {
    const DeviceRow& row = rows[i];
    CAPTURE(row.name);
    REQUIRE(row.measured.has_value());
    CHECK(row.measured->same_bits);
    CHECK(row.measured->times.least > 0);
    CHECK(row.measured->times.least <= row.measured->times.median);
    CHECK(row.log.total().work.bytes > 0);
    const Json& json = figures.array("rows")[i];
    CHECK(json.at("launches", "row").number("launches") == static_cast<double>(row.log.total().launches));
    CHECK_FALSE(only_counted[i].measured.has_value());
    CHECK(only_counted[i].log.total().work.bytes == row.log.total().work.bytes);
  }
  CHECK(rows[0].log.total().launches == 2);
  CHECK(rows[1].log.total().launches == 8);
  CHECK(rows[2].log.total().launches == 9);  // the products of the two ciphertexts before it
  CHECK(rows[3].log.total().launches > 50 * rows[1].log.total().launches);
  // A ring this small does nothing for as long as a launch takes.
  CHECK(rows[1].log.small.launches == rows[1].log.total().launches);
  CHECK(rows[1].log.small.work.bytes == rows[1].log.total().work.bytes);
  // The prediction is the sum of its parts: at least the time of all bytes, and of all launches.
  const double least = 1e3 * (static_cast<double>(rows[3].log.total().work.bytes) / 4.3e12 +
                              static_cast<double>(rows[3].log.total().launches) * 2e-6);
  CHECK(rows[3].predicted_ms >= 0.999 * least);
}

}  // namespace
}  // namespace psm::cmd
