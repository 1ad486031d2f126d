// Replaces the kernel's randomness by a stream that repeats. Linking this library gives a test its own
// getrandom(2), so keys and ciphertexts have the same bits in every run. For test targets alone (testonly):
// keys made with it protect nothing.
#pragma once

namespace psm {

// Starts the stream anew: what is drawn from here on repeats what was drawn after the last restart.
void restart_kernel_randomness();

}  // namespace psm
