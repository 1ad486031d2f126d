#include "cmd/server/program_parts.h"

namespace psm::cmd {

using program::Instruction;
using program::Opcode;

const char* computed_part(const Instruction& instruction) {
  const auto is_in = [&](const char* label) { return instruction.label.find(label) != std::string::npos; };
  if (instruction.opcode == Opcode::kBootstrap) return "bootstraps";
  const bool map = instruction.opcode == Opcode::kLinear;
  if (is_in("/ norm")) return "inverse_square_root";  // behind the matrices that it divides
  if (is_in("/ query, key, value")) return "linear_query_key_value_up";
  if (is_in("/ output")) return "linear_output_down";
  if (map && is_in("/ feed-forward")) return "linear_query_key_value_up";
  if (is_in("/ attention / scores")) return map ? "masks" : "scores";
  if (is_in("/ attention / values")) return map ? "masks" : "times_values";
  if (is_in("/ attention / power")) return "powers";
  if (is_in("/ attention / denominator") || is_in("/ attention / division")) return "inverse";
  if (is_in("/ gelu")) return "gelu";
  return "other";
}

const char* operation_part(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBootstrap:
      return "bootstrap";
    case Opcode::kRotate:
    case Opcode::kSumOfRotations:
    case Opcode::kConjugate:
      return "rotate";
    case Opcode::kLinear:
      return "linear_maps";
    case Opcode::kMultiplyPlain:
      return "plaintext_products";
    case Opcode::kMultiply:
    case Opcode::kSumOfProducts:
      return "ciphertext_products";
    case Opcode::kSeries:
      return "polynomials";
    default:
      return "other";
  }
}

void RunDigests::add(size_t instruction, const ckks::Ciphertext& result) {
  Sha256& sum = sums_[instruction];
  for (const ckks::RnsPoly& c : result.c)
    for (int j = 0; j < c.limbs(); ++j) sum.update(c.limb(j), static_cast<size_t>(c.n()) * sizeof(uint64_t));
}

std::vector<uint64_t> RunDigests::take() {
  std::vector<uint64_t> digests(sums_.empty() ? 0 : sums_.rbegin()->first + 1);
  for (const auto& [instruction, sum] : sums_) {
    const Sha256::Digest digest = sum.digest();
    for (size_t byte = 0; byte < sizeof(uint64_t); ++byte)
      digests[instruction] = digests[instruction] << 8 | digest[byte];
  }
  sums_.clear();
  return digests;
}

}  // namespace psm::cmd
