// The tables that an engine keeps on its device: primes and roots, and, made at their first use, the
// constants of changes of basis and of products by P, and automorphisms. All are public.
//
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "ckks/device/device.h"
#include "ckks/device/programs/block_program.h"
#include "ckks/engine/converters.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

// A BasisConverter's constants, at addresses of the device.
struct DeviceConverter {
  const BasisConverter* host;
  const uint64_t* matrix;
  const double* reciprocals;
  const Multiplier* last;      // of source s: two, NttTask::last
  const Multiplier* inverses;  // D^{-1} modulo target t
};

class DeviceTables {
 public:
  // Throws Error if the ring, its primes or its digits are beyond the programs' limits.
  DeviceTables(const Context& context, Device& device);

  const NttView* views() const { return views_; }

  const DeviceConverter& mod_up(Level level, int digit, int p_count) const;
  const DeviceConverter& mod_down(Level level, int p_count, bool rescales) const;
  const DeviceConverter& lift(Level level) const;
  // [P]_{q_j} by limb, P the product of the first p_count special primes.
  const Multiplier* p_products(int p_count) const;
  // Returns the permutation of an automorphism that is not the identity.
  Permutation permutation(GaloisElement g) const;

 private:
  template <class T>
  const T* keep(std::span<const T> values) const;
  const DeviceConverter& converter(const BasisConverter& host) const;

  const Context& context_;
  Device& device_;
  Converters converters_;
  const NttView* views_;
  mutable std::mutex mutex_;
  mutable std::vector<Buffer> kept_;
  mutable std::map<const BasisConverter*, DeviceConverter> by_converter_;
  mutable std::map<int, const Multiplier*> p_products_;
  mutable std::map<GaloisElement, Permutation> permutations_;
};

}  // namespace psm::ckks
