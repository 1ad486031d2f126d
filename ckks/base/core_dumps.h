// A process that holds a secret leaves no image of itself on the disk when it dies.
#pragma once

namespace psm {

// The first call of a command that holds a secret. From here on the system writes no core file of this
// process, hands none to a collecting program, and lets no other process of its user attach to it. Throws
// Error if the system refuses.
void forbid_core_dumps();

}  // namespace psm
