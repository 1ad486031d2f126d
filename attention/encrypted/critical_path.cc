#include "attention/encrypted/critical_path.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace psm::attention {
namespace {

using program::Instruction;
using program::Program;

// Which part of a layer a path has been through.
enum Part : size_t { kNone, kAttention, kFeedForward, kParts };
// The longest path to a value through each part; none where there is no such path.
using Paths = std::array<std::optional<PathLevels>, kParts>;

void keep_longest(std::optional<PathLevels>& longest, const PathLevels& path) {
  if (!longest || path.total > longest->total) longest = path;
}

// "layer 3 / attention / ..." : 3, or -1 outside of layers.
int layer_of(std::string_view label) {
  constexpr std::string_view kPrefix = "layer ";
  int layer = -1;
  if (label.starts_with(kPrefix))
    std::from_chars(label.data() + kPrefix.size(), label.data() + label.size(), layer);
  return layer;
}

bool has_part(std::string_view label, std::string_view part) {
  const size_t at = label.find(part);
  return at != std::string_view::npos && (at + part.size() == label.size() || label[at + part.size()] == ' ');
}

PathLevels extended(PathLevels path, const Instruction& instruction) {
  const int levels = program::depth(instruction);
  path.total += levels;
  if (has_part(instruction.label, " / 1/sqrt(x)")) path.inverse_sqrt += levels;
  if (has_part(instruction.label, " / 1/x")) path.inverse += levels;
  if (has_part(instruction.label, " / gelu") || has_part(instruction.label, " / silu")) path.gelu += levels;
  return path;
}

}  // namespace

std::vector<LayerPath> critical_paths(const Program& program) {
  struct At {
    int layer = -1;
    Paths paths;
  };
  std::vector<At> values(static_cast<size_t>(program.value_count()));
  std::vector<LayerPath> layers;
  for (const Instruction& instruction : program.instructions) {
    const int layer = layer_of(instruction.label);
    if (layer < 0) continue;
    if (static_cast<size_t>(layer) >= layers.size()) layers.resize(static_cast<size_t>(layer) + 1);
    const Part part = has_part(instruction.label, " / attention")      ? kAttention
                      : has_part(instruction.label, " / feed-forward") ? kFeedForward
                                                                       : kNone;
    // Depth is zero where the layer begins: at what was computed before it.
    const auto paths_to = [&](program::Value value) {
      const At& from = values[value.id];
      return from.layer == layer ? from.paths : Paths{PathLevels{}, std::nullopt, std::nullopt};
    };
    const auto extend = [&](Paths& result, program::Value argument) {
      const Paths paths = paths_to(argument);
      for (size_t through = kNone; through < kParts; ++through)
        if (paths[through])
          keep_longest(result[through == kNone ? part : through], extended(*paths[through], instruction));
    };
    // A refresh hands each of its arguments on; all other instructions combine theirs.
    const bool each = instruction.opcode == program::Opcode::kRefresh;
    Paths combined;
    if (!each)
      for (const program::Value argument : instruction.arguments) extend(combined, argument);
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      Paths paths = combined;
      if (each) extend(paths, instruction.arguments[i]);
      LayerPath& longest = layers[layer];
      if (paths[kAttention] && paths[kAttention]->total > longest.attention.total)
        longest.attention = *paths[kAttention];
      if (paths[kFeedForward] && paths[kFeedForward]->total > longest.feed_forward.total)
        longest.feed_forward = *paths[kFeedForward];
      values[instruction.results[i].id] = {layer, paths};
    }
  }
  return layers;
}

}  // namespace psm::attention
