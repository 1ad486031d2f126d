// Whether a program's file makes sense, before anything is allocated for it: what an auditor reads instead of the
// planner. It trusts nothing in the file and knows nothing of how it was made.
//
//   parameters   a Context accepts them: in the security table, or insecure and saying so
//   values       each is defined once, before its use; its level lies in the chain; its period and block are powers of
//                two that fit the slots, and no shorter than the instruction makes them (a sum may close a period)
//   levels       level of the arguments = level of the results + depth, below the bootstraps' own; no argument stands
//                below where it is used
//   bootstraps   enter and leave at the levels of their kind, and keep what their values repeat
//   constants    one period of at most all slots; rotations by less than all slots, coefficients of moderate size
//   inputs       are those that instructions read, each under one name; range checks have a range
//   arguments    of an entry point exchange plaintexts of one period and rotations, as many, and nothing else, once
//   keys         the entry asks for just those that its instructions take, for every value of its argument
//   work         looking at all of this takes a bounded time: few kinds of bootstraps, terms that many instructions
//                share counted for each
//
// What it cannot see: that a value is real, equal in blocks or closes a period as marked, or that a program computes
// what its author says. The twin sees this (ckks/program/machines/twin.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ckks/program/file/program_file.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

// Throws psm::Error that names the entry point and the instruction. Afterwards the plans are complete().
void verify(ProgramFile&, const ckks::Context&);

// A program that was read and verified, and the context of its parameters.
struct VerifiedProgram {
  ProgramFile file;
  std::unique_ptr<const ckks::Context> context;
};
VerifiedProgram load_program(const std::string& path);

}  // namespace psm::program
