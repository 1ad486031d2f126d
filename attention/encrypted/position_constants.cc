#include "attention/encrypted/position_constants.h"

#include <bit>
#include <map>
#include <utility>

#include "attention/encrypted/encrypted_cache.h"

namespace psm::attention {

using program::Builder;
using program::Instruction;
using program::Value;

Value PositionConstants::keep(Value made, Plains plain, std::function<int(int position)> offset) {
  constants_.push_back({{.results = {made}}, std::move(plain), std::move(offset)});
  return made;
}

Value PositionConstants::multiply(Builder& builder, Value x, const Plains& plain) {
  return keep(builder.multiply_plain(x, (*plain)(0)), plain, {});
}

Value PositionConstants::add(Builder& builder, Value x, const Plains& plain) {
  return keep(builder.add_plain(x, (*plain)(0)), plain, {});
}

Value PositionConstants::to_place(Builder& builder, Value x, int from) {
  const int F = packing_.features, all = static_cast<int>(packing_.slots) / F, G = near_places();
  const auto modulo = [](int a, int m) { return (a % m + m) % m; };
  const auto near = [=](int position) { return 1 + modulo(from - position - 2, G); };
  const auto near_offset = [=](int position) { return near(position) * F; };
  const auto far_offset = [=](int position) { return modulo(from - position - near(position), all) * F; };
  x = keep(builder.rotate(x, near_offset(0)), nullptr, near_offset);
  return keep(builder.rotate(x, far_offset(0)), nullptr, far_offset);
}

void PositionConstants::finish(const program::Program& program) {
  std::map<int, const Instruction*> by_result;
  for (const Instruction& instruction : program.instructions)
    by_result.emplace(instruction.results[0].id, &instruction);
  for (Constant& constant : constants_)
    constant.instruction = *by_result.at(constant.instruction.results[0].id);
}

int PositionConstants::near_places() const {
  return 1 << std::countr_zero(packing_.slots / static_cast<size_t>(packing_.features)) / 2;
}

std::vector<int> PositionConstants::all_rotations() const {
  std::vector<int> positions;
  for (int position = 0; position < packing_.tokens; ++position)
    if (position < near_places() || position % near_places() == 0 || position == packing_.tokens - 1)
      positions.push_back(position);
  return positions;
}

program::Constants PositionConstants::at(int position) const {
  require_one_sequence(packing_, position + 1);
  std::map<const PlainAt*, ckks::Plain> plains;
  program::Constants constants;
  for (const Constant& constant : constants_) {
    Instruction& instruction = constants.emplace_back(constant.instruction);
    if (constant.plain == nullptr) {
      instruction.offsets = {constant.offset(position)};
      continue;
    }
    const auto [known, is_new] = plains.try_emplace(constant.plain.get());
    if (is_new) known->second = (*constant.plain)(position);
    instruction.plain = known->second;
  }
  return constants;
}

}  // namespace psm::attention
