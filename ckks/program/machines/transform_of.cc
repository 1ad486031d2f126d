#include "ckks/program/machines/transform_of.h"

namespace psm::program {

LinearTransform transform_of(const LinearMap& map, size_t slots) {
  LinearTransform transform;
  transform.slots = static_cast<int>(slots);
  transform.outputs = map.outputs;
  for (const LinearTerm& term : map.terms) {
    const auto values = term.weight.values();
    transform.terms.push_back({.output = term.output,
                               .giant = term.giant,
                               .input = term.input,
                               .baby = term.baby,
                               .conjugate = term.conjugate,
                               .diagonal = {values.begin(), values.end()}});
  }
  return transform;
}

}  // namespace psm::program
