// A build without MPI.
#include <cstdlib>

#include "ckks/base/error.h"
#include "cmd/server/ranks/ranks.h"

namespace psm::cmd {

std::unique_ptr<Ranks> open_ranks() {
  // What Open MPI and others tell a process of how many it is one.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(name); size != nullptr && std::atoi(size) > 1)
      throw Error(
          message("one of ", std::atoi(size), " ranks, but this build has no MPI; build with --config=mpi"));
  return nullptr;
}

}  // namespace psm::cmd
