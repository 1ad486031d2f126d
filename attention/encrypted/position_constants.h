// The parts of a decoding program (decode.h) that depend on the token's position t: plaintexts, and rotations to the
// token's place in a cache. Levels and instructions do not, so one plan serves all positions (with_constants in plan.h).
//
// A rotation by up to P places leads from a region to place t. It is made of two rotations, near + far, of G
// and P / G kinds, none of them zero. So all positions have the same instructions, and keys are needed for G
// + P / G offsets instead of P:
//     near in {1, ..., G},   far in {1, G + 1, 2 G + 1, ...},   near + far = region - t  modulo P,  G ~ sqrt P.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attention/ends/packing.h"
#include "ckks/program/program.h"

namespace psm::attention {

class PositionConstants {
 public:
  using PlainAt = std::function<ckks::Plain(int position)>;
  // Instructions that share a function share its plaintexts.
  using Plains = std::shared_ptr<const PlainAt>;

  explicit PositionConstants(const Packing& packing) : packing_(packing) {}

  // Those of the token at `position`, from 0 to T - 1.
  program::Constants at(int position) const;
  // Positions whose rotations together are those of all positions.
  std::vector<int> all_rotations() const;

  // Appended to a program, as position 0 has them.
  program::Value multiply(program::Builder&, program::Value, const Plains&);
  program::Value add(program::Builder&, program::Value, const Plains&);
  // What is in place `from`, in the token's.
  program::Value to_place(program::Builder&, program::Value, int from);
  // When the program is whole.
  void finish(const program::Program&);

 private:
  struct Constant {
    program::Instruction instruction;  // of position 0
    Plains plain;                      // null: a rotation
    std::function<int(int position)> offset;
  };
  program::Value keep(program::Value made, Plains plain, std::function<int(int position)> offset);
  int near_places() const;  // G

  Packing packing_;
  std::vector<Constant> constants_;
};

}  // namespace psm::attention
