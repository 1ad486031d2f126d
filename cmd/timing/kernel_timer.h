// Times the kernels (ckks/ring/kernels/kernels.h) of a run: a backend that passes every call on to the one in
// use and adds up the seconds between its beginning and its end, by kind and over all threads.
//
// The clock is a steady one, so where other programs take a processor their time is counted as the kernel's.
// Reading it twice takes about a tenth of a microsecond; a call takes some ten of them, or a few where it
// works on a tile of a limb.
#pragma once

#include <array>
#include <cstddef>

#include "ckks/ring/kernels/kernels.h"

namespace psm::cmd {

enum class KernelKind {
  kNtt,                // forward and inverse transforms
  kKeyProduct,         // digits by key-switching keys
  kPlaintextProduct,   // by encoded plaintexts, summed (run_matrix_product)
  kCiphertextProduct,  // other products of residues by residues
  kConversion,         // of the basis, and to another prime
  kAutomorphism,
  kElementwise,  // sums, and products by one constant
};
constexpr size_t kKernelKinds = 7;
// By kind.
constexpr const char* kKernelNames[kKernelKinds] = {
    "ntt",         "key_products",  "plaintext_products", "ciphertext_products",
    "conversions", "automorphisms", "elementwise"};

// Thread seconds by kind.
using KernelTimes = std::array<double, kKernelKinds>;

// Times while it lives; one at a time. Not while others compute.
class KernelTimer {
 public:
  KernelTimer();
  ~KernelTimer();
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

  // Since the last call.
  KernelTimes take();
};

}  // namespace psm::cmd
