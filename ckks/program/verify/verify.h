// Checks a program's file after it was read and before it runs. An auditor reads this instead of the planner.
// It trusts nothing in the file and does not depend on how it was made.
//
//   parameters   a Context accepts them: in the security table, or marked as insecure
//   values       each is defined once, before its use. Its level lies in the chain. Its period and block are powers of
//                two that fit the slots, and no shorter than its instruction makes them (a sum may close a period)
//   levels       level of the arguments = level of the results + depth, below the bootstraps' own levels. No argument
//                has a lower level than its use
//   bootstraps   enter and leave at the levels of their kind, and keep what their values repeat
//   constants    one period of at most all slots; rotations by less than all slots, coefficients of moderate size
//   inputs       are those that instructions read, each with one name; range checks have a range
//   arguments    of an entry point only exchange plaintexts for others of the same period, and rotations for as many
//                others, each once
//   keys         the entry names exactly the keys of its instructions, for every value of its argument
//   work         verifying takes a bounded time: few kinds of bootstraps; terms count for each instruction that shares
//                them
//
// It cannot see whether a value is real, equal in blocks or closes a period as marked, nor whether a program
// computes what its author says. The twin can (ckks/program/machines/twin.h).
#pragma once

#include <memory>
#include <string>

#include "ckks/program/file/program_file.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

// Throws psm::Error that names the entry point and the instruction. Calls complete() on the plans.
void verify(ProgramFile&, const ckks::Context&);

// A program that was read and verified, and the context of its parameters.
struct VerifiedProgram {
  ProgramFile file;
  std::unique_ptr<const ckks::Context> context;
};
VerifiedProgram load_program(const std::string& path);

}  // namespace psm::program
