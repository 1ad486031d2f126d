#include "cmd/study/experiments/calibration.h"

#include "ckks/base/error.h"

namespace psm::cmd {

program::KernelSeconds kernel_seconds(StudyContext& context, const ckks::Context& crypto) {
  const Json stored = context.once("kernels", [&] {
    Json seconds = Json(Json::Array{});
    for (const double each : program::calibrate(crypto).kernels.seconds) seconds.push_back(each);
    return seconds;
  });
  program::KernelSeconds kernels;
  const Json::Array& values = stored.array("kernels");
  if (values.size() != kernels.seconds.size()) throw Error(message("kernels: ", values.size(), " figures"));
  for (size_t i = 0; i < values.size(); ++i) kernels.seconds[i] = values[i].number("kernels");
  return kernels;
}

double number(const Json& reading, const char* member) {
  return reading.at(member, "a reading").number(member);
}

}  // namespace psm::cmd
