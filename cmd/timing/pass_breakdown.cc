#include "cmd/timing/pass_breakdown.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "ckks/base/error.h"
#include "cmd/server/program_parts.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;
using program::WorkKind;

std::vector<PassPart> parts_named(std::initializer_list<const char*> names) {
  std::vector<PassPart> parts;
  for (const char* name : names) parts.push_back({.name = name});
  return parts;
}

PassPart& part_of(std::vector<PassPart>& parts, const std::string& name) {
  const auto found = std::ranges::find(parts, name, &PassPart::name);
  PSM_CHECK(found != parts.end(), name);
  return *found;
}

// Predicted seconds of the plaintext products of a linear map.
double predicted_products(const Instruction& instruction, size_t slots, ckks::Level level,
                          const program::CostModel& costs) {
  const program::TransformSummary map =
      program::summarise(*instruction.linear, ckks::transform_schedule(*instruction.linear, slots), slots);
  const double limbs = 2.0 * (level + 1 + costs.chain().special_primes(level));
  program::Work work;
  work[WorkKind::kMultiply] = limbs * static_cast<double>(map.full_terms);
  work[WorkKind::kRunProduct] = limbs * static_cast<double>(map.periodic_terms);
  return costs.kernels().of(work);
}

}  // namespace

std::vector<PassPart> by_computation(const program::Plan& plan, const PassTimes& times,
                                     const std::vector<double>& predicted) {
  std::vector<PassPart> parts =
      parts_named({"linear_query_key_value_up", "linear_output_down", "masks", "scores", "times_values",
                   "powers", "inverse", "gelu", "inverse_square_root", "bootstraps", "other"});
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    PassPart& part = part_of(parts, computed_part(plan.program.instructions[i]));
    part.seconds += times.seconds[i];
    part.encoding += times.encode_seconds[i];
    part.predicted += predicted[i];
  }
  return parts;
}

std::vector<PassPart> by_operation(const program::Plan& plan, const PassTimes& times,
                                   const program::CostModel& costs, const std::vector<double>& predicted,
                                   double predicted_encoding) {
  std::vector<PassPart> parts = parts_named(
      {"bootstrap", "encode", "rotate", "plaintext_products", "ciphertext_products", "polynomials", "other"});
  PassPart &encode = part_of(parts, "encode"), &rotate = part_of(parts, "rotate");
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const bool is_map = instruction.opcode == Opcode::kLinear;  // split below
    PassPart& part = part_of(parts, is_map ? "plaintext_products" : operation_part(instruction.opcode));
    double seconds = times.seconds[i] - times.encode_seconds[i], expected = predicted[i];
    encode.seconds += times.encode_seconds[i];
    if (is_map) {
      const double expected_products =
          predicted_products(instruction, plan.program.slots, plan.argument_level[i], costs);
      const double products = seconds * std::min(1.0, expected_products / expected);
      rotate.seconds += seconds - products;
      rotate.predicted += expected - expected_products;
      seconds = products, expected = expected_products;
    }
    part.seconds += seconds;
    part.predicted += expected;
  }
  encode.encoding = encode.seconds, encode.predicted = predicted_encoding;
  return parts;
}

}  // namespace psm::cmd
