#include "cmd/metering/sequences.h"

#include <utility>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

std::string sequences_text(const Machine& machine, const std::map<int, Metered>& in_step,
                           const Metered& one) {
  Table table({"sequences", "a token of each", "one by one", "a token", "bootstraps", "caches", "a sequence",
               "keys", "peak memory"});
  for (const auto& [count, together] : in_step) {
    const program::MeterReading& reading = together.reading;
    const double kept = cache_bytes(machine.context, together.plan);
    table.row({std::to_string(count), seconds_text(reading.seconds),
               seconds_text(one.reading.seconds * count), seconds_text(reading.seconds / count),
               std::to_string(reading.counts.bootstraps), bytes_text(kept), bytes_text(kept / count),
               bytes_text(reading.key_bytes()), bytes_text(reading.peak_bytes())});
  }
  return message(table.text(), "  one sequence by its own program: ", seconds_text(one.reading.seconds), ", ",
                 counted(static_cast<size_t>(one.reading.counts.bootstraps), "bootstrap"), ", ",
                 bytes_text(cache_bytes(machine.context, one.plan)), " of caches, ",
                 bytes_text(one.reading.peak_bytes()), " at its peak\n");
}

Json sequences_json(const Machine& machine, const std::map<int, Metered>& in_step, const Metered& one) {
  const auto figures = [&](const Metered& metered) {
    Json json;
    json["seconds"] = metered.reading.seconds;
    json["full_bootstraps"] = metered.reading.seconds / machine.bootstrap.seconds;
    json["bootstraps"] = metered.reading.counts.bootstraps;
    json["cache_ciphertexts"] = static_cast<int64_t>(metered.plan.budget.carried.size());
    json["cache_bytes"] = cache_bytes(machine.context, metered.plan);
    json["key_bytes"] = metered.reading.key_bytes();
    json["peak_bytes"] = metered.reading.peak_bytes();
    return json;
  };
  Json json;
  json["one_sequence"] = figures(one);
  int crossover = 0;
  for (const auto& [count, together] : in_step) {
    if (crossover == 0 && together.reading.seconds < one.reading.seconds * count) crossover = count;
    Json row = figures(together);
    row["sequences"] = count;
    row["seconds_a_sequence"] = together.reading.seconds / count;
    json["in_step"].push_back(std::move(row));
  }
  json["crossover"] = crossover;
  return json;
}

}  // namespace psm::cmd
