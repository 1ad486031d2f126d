#include "cmd/client/answers.h"

#include <algorithm>

namespace psm::cmd {

std::vector<int> Answers::scored_positions(int length) const {
  if (of_classes()) return {0};
  std::vector<int> positions;
  for (int t = first; t < length; t += step) positions.push_back(t);
  return positions;
}

std::string Answers::list(std::span<const int> tokens) const {
  std::string text;
  if (of_classes()) {
    for (const int each : tokens) text += (text.empty() ? "class " : ", ") + std::to_string(each);
    return text;
  }
  const bool are_short = std::all_of(tokens.begin(), tokens.end(), [&](int token) {
    return static_cast<size_t>(token) < short_symbols.size() && short_symbols[static_cast<size_t>(token)];
  });
  const char* const between = words ? " " : are_short ? "" : "|";
  for (size_t i = 0; i < tokens.size(); ++i) text += (i == 0 ? "" : between) + symbol(tokens[i]);
  return text;
}

}  // namespace psm::cmd
