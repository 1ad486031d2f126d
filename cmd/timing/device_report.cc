#include "cmd/timing/device_report.h"

#include "ckks/base/error.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

std::string three_digits(double count) { return format("%.3g", count); }

double predicted_ms(const ckks::LaunchLog& log) {
  return 1e3 * ckks::predicted_seconds(log, ckks::kH200ByDataSheet);
}

}  // namespace

std::string device_table(const std::vector<DeviceRow>& rows) {
  Table table({"operation", "limbs", "launches", "bytes", "products", "predicted ms", "must", "aim",
               "host ms", "median ms", "least ms", "same bits"});
  for (const DeviceRow& row : rows) {
    const ckks::LaunchLog::Entry total = row.log.total();
    const auto& measured = row.measured;
    table.row({row.name, std::to_string(row.limbs), std::to_string(total.launches),
               bytes_text(static_cast<double>(total.work.bytes)),
               three_digits(static_cast<double>(total.work.products)), three_digits(row.predicted_ms),
               row.bar ? three_digits(row.bar->must_ms) : "", row.bar ? three_digits(row.bar->aim_ms) : "",
               three_digits(row.host_ms), measured ? format("%.4g", measured->median_ms) : "",
               measured ? format("%.4g", measured->least_ms) : "",
               !measured             ? ""
               : measured->same_bits ? "yes"
                                     : "NO"});
  }
  return table.text();
}

std::string log_table(const std::string& title, const ckks::LaunchLog& log) {
  Table table({title, "launches", "bytes", "products"});
  const auto row = [&](const std::string& name, const ckks::LaunchLog::Entry& entry) {
    table.row({name, std::to_string(entry.launches), bytes_text(static_cast<double>(entry.work.bytes)),
               three_digits(static_cast<double>(entry.work.products))});
  };
  for (const auto& [name, entry] : log.programs) row(name, entry);
  row("all", log.total());
  row("of them small", log.small);
  return table.text();
}

std::string pass_report(int bootstraps, const DevicePass& pass) {
  const auto size = [](size_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  return log_table("a warm pass", pass.warm) +
         message("  ", bootstraps, " bootstraps; predicted: a warm pass ",
                 three_digits(predicted_ms(pass.warm)), " ms (must 2000, aim 800 of Pythia 70M), the first ",
                 three_digits(predicted_ms(pass.first)), " ms and ", size(pass.first.uploaded_bytes),
                 " uploaded; the host asks for it in ", three_digits(1e3 * pass.host_seconds),
                 " ms\n  device memory at its peak: ", size(pass.peak_bytes), ", keys ", size(pass.key_bytes),
                 " of it\n");
}

}  // namespace psm::cmd
