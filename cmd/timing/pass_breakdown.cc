#include "cmd/timing/pass_breakdown.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"
#include "cmd/server/program_parts.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;
using program::WorkKind;

// Parts by name, in the order of their names.
class Parts {
 public:
  explicit Parts(std::initializer_list<const char*> names) {
    for (const char* name : names) parts_.push_back({.name = name});
  }
  PassPart& operator[](const std::string& name) {
    const auto found =
        std::find_if(parts_.begin(), parts_.end(), [&](const PassPart& part) { return part.name == name; });
    PSM_CHECK(found != parts_.end(), name);
    return *found;
  }
  std::vector<PassPart> take() { return std::move(parts_); }

 private:
  std::vector<PassPart> parts_;
};

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
  Parts parts{"linear_query_key_value_up",
              "linear_output_down",
              "masks",
              "scores",
              "times_values",
              "powers",
              "inverse",
              "gelu",
              "inverse_square_root",
              "bootstraps",
              "other"};
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    PassPart& part = parts[computed_part(plan.program.instructions[i])];
    part.seconds += times.seconds[i];
    part.encoding += times.encode_seconds[i];
    part.predicted += predicted[i];
  }
  return parts.take();
}

std::vector<PassPart> by_operation(const program::Plan& plan, const PassTimes& times,
                                   const program::CostModel& costs, const std::vector<double>& predicted,
                                   double predicted_encoding) {
  Parts parts{"bootstrap",           "encode",      "rotate", "plaintext_products",
              "ciphertext_products", "polynomials", "other"};
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const bool is_map = instruction.opcode == Opcode::kLinear;  // split below
    PassPart &part = parts[is_map ? "plaintext_products" : operation_part(instruction.opcode)],
             &encode = parts["encode"];
    double seconds = times.seconds[i] - times.encode_seconds[i], expected = predicted[i];
    encode.seconds += times.encode_seconds[i];
    encode.encoding += times.encode_seconds[i];
    if (is_map) {
      const double products =
          times.kernels[i][static_cast<size_t>(KernelKind::kPlaintextProduct)] / times.threads;
      const double expected_products =
          predicted_products(instruction, plan.program.slots, plan.argument_level[i], costs);
      parts["rotate"].seconds += seconds - products;
      parts["rotate"].predicted += expected - expected_products;
      seconds = products, expected = expected_products;
    }
    part.seconds += seconds;
    part.predicted += expected;
  }
  parts["encode"].predicted = predicted_encoding;
  return parts.take();
}

KernelSums kernel_sums(const program::Plan& plan, const PassTimes& times) {
  KernelSums sums;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const bool bootstrap = plan.program.instructions[i].opcode == Opcode::kBootstrap;
    KernelTimes& sum = bootstrap ? sums.in_bootstraps : sums.elsewhere;
    (bootstrap ? sums.threads_in_bootstraps : sums.threads_elsewhere) += times.threads * times.seconds[i];
    for (size_t kind = 0; kind < kKernelKinds; ++kind) sum[kind] += times.kernels[i][kind];
  }
  return sums;
}

}  // namespace psm::cmd
