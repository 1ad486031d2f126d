#include "cmd/reports/path_report.h"

namespace psm::cmd {

Figures path_figures(const std::vector<attention::LayerPath>& paths) {
  const auto levels = [](const attention::PathLevels& path) {
    Json json;
    json["total"] = path.total;
    json["inverse_sqrt"] = path.inverse_sqrt;
    json["inverse"] = path.inverse;
    json["gelu"] = path.gelu;
    json["besides_inverse_sqrt_and_inverse"] = path.besides();
    return json;
  };
  Figures figures;
  for (size_t layer = 0; layer < paths.size(); ++layer) {
    const attention::LayerPath& path = paths[layer];
    const attention::PathLevels& longest = path.critical();
    figures.row()
        .cell("levels of layer", std::to_string(layer))
        .json("attention", levels(path.attention))
        .cell("attention", std::to_string(path.attention.total))
        .json("feed_forward", levels(path.feed_forward))
        .cell("feed-forward", std::to_string(path.feed_forward.total))
        .cell("critical", std::to_string(longest.total))
        .cell("1/sqrt(x)", std::to_string(longest.inverse_sqrt))
        .cell("1/x", std::to_string(longest.inverse))
        .cell("besides", std::to_string(longest.besides()));
  }
  return figures;
}

}  // namespace psm::cmd
