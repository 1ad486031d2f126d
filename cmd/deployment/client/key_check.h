// A new key pair tests itself, from its files, as those who will use them read them: what it encrypts it
// decrypts, under the public key and under the secret; the keys of a bootstrap make one, and every other key
// for products and rotations does what it is for. A key that memory or a disk has spoilt is found before
// anything is encrypted for it.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/key_files.h"

namespace psm::cmd {

// Said where an interruption stops the making or the test of keys.
inline constexpr char kNoKeysKept[] = "no keys were kept; run the same command again to make them";

struct KeyCheck {
  size_t keys = 0;  // for products and rotations that were tested one by one
  // Where there is a bootstrap and memory for it; else its keys are among those above.
  bool bootstrapped = false;
};

// Throws Error where a result is farther from what it should be than four times the error that the noise
// model predicts. Both bootstraps may be null, and the full one is taken where there are two;
// `bootstrap_bytes` is the memory that it takes with all keys.
KeyCheck check_keys(const KeyFiles& files, const ckks::Context& context, const ckks::BootstrapPlan* bootstrap,
                    const ckks::SparseBootstrapPlan* sparse, size_t bootstrap_bytes);

}  // namespace psm::cmd
