// The kernel's randomness replaced by a stream that repeats: linking this library gives a test its own
// getrandom(2), so that keys and ciphertexts are the same in every run and their bits can be compared. For
// test targets alone (testonly): keys that were made with it protect nothing.
#pragma once

namespace psm {

// Starts the stream anew: what is drawn from here on repeats what was drawn after the last restart.
void restart_kernel_randomness();

}  // namespace psm
