// A process that holds a secret leaves no image of itself on the disk when it dies.
#pragma once

namespace psm {

// First call of a command that holds a secret. From here on no core file of this process is written or handed
// to a program that collects them, and no other process of its user may attach to it. Throws Error if the
// system refuses.
void forbid_core_dumps();

}  // namespace psm
