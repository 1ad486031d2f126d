#include "train/stages/query_key_norm.h"

#include <cmath>

namespace psm::train {
namespace {

double norm_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

}  // namespace

QueryKeyHolder::QueryKeyHolder(const attention::ModelConfig& config, std::span<const float> initial,
                               const QueryKeyHold& hold)
    : hold_(hold) {
  if (hold.decay == 0 && !hold.fixed) return;
  const size_t size = static_cast<size_t>(config.head_dim()) * config.width;
  for (const attention::ParameterSlice& slice : attention::parameter_slices(config))
    if (slice.name.ends_with(".wq") || slice.name.ends_with(".wk"))
      for (size_t begin = slice.begin; begin < slice.begin + slice.size(); begin += size)
        heads_.push_back({begin, size, norm_of(initial.subspan(begin, size))});
}

void QueryKeyHolder::apply(std::span<float> values, double rate) const {
  for (const Head& head : heads_) {
    const std::span<float> rows = values.subspan(head.begin, head.size);
    const double now = hold_.fixed ? norm_of(rows) : 0;
    const double factor = now > 0 ? head.norm / now : 1 - rate * hold_.decay;
    for (float& entry : rows) entry *= static_cast<float>(factor);
  }
}

}  // namespace psm::train
