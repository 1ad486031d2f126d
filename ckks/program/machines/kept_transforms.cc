#include "ckks/program/machines/kept_transforms.h"

#include <algorithm>
#include <map>
#include <vector>

namespace psm::program {

std::set<std::pair<ckks::TransformIdentity, int>> kept_transforms(const Plan& plan, const ckks::Chain& chain,
                                                                  size_t bytes) {
  struct Use {
    int instructions = 0;
    size_t first = 0;
    double bytes = 0;
  };
  std::map<std::pair<ckks::TransformIdentity, int>, Use> uses;
  double left = static_cast<double>(bytes);
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const ckks::Level level = plan.argument_level[i];
    if (instruction.plain.period() > 1)
      left -= 16.0 * static_cast<double>(instruction.plain.period()) * (level + 1);
    if (!instruction.linear) continue;
    const auto [use, is_new] = uses.try_emplace({ckks::same_encoding(*instruction.linear), level});
    ++use->second.instructions;
    if (!is_new) continue;
    use->second.first = i;
    for (const ckks::TransformTerm& term : instruction.linear->terms) {
      use->second.bytes +=
          16.0 * static_cast<double>(term.weight.period()) * (level + 1 + chain.special_primes(level));
    }
  }
  std::vector<decltype(uses)::const_iterator> order;
  for (auto use = uses.cbegin(); use != uses.cend(); ++use) order.push_back(use);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(-a->second.instructions, a->second.first) <
           std::pair(-b->second.instructions, b->second.first);
  });
  std::set<std::pair<ckks::TransformIdentity, int>> kept;
  for (const auto& use : order) {
    if (use->second.bytes > left) continue;
    left -= use->second.bytes;
    kept.insert(use->first);
  }
  return kept;
}

}  // namespace psm::program
