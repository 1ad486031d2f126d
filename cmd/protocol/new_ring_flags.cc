#include "cmd/protocol/new_ring_flags.h"

#include "ckks/base/error.h"

namespace psm::cmd {

RingFlags::RingFlags(Command& flags)
    : FileRingFlags(flags),
      log_n(flags.integer("log-n", 16, 11, 16, "log2 of the ring degree; below 16 nothing is secure")),
      secret(flags.text("secret", "sparse",
                        "where keys are made: a sparse secret (weight 192) or a dense one")) {}

ckks::ParameterSpec RingFlags::spec() const {
  if (secret != "sparse" && secret != "dense") {
    throw Error(message("--secret ", secret, " is not offered; there are: sparse, dense"));
  }
  const ckks::ParameterSpec spec = secret == "dense" ? ckks::secure_n16_dense() : ckks::secure_n16();
  if (log_n == spec.log_n) return spec;
  if (!insecure) {
    throw Error(message("--log-n ", log_n,
                        " offers no security; leave it at 16, or add --insecure to try things out"));
  }
  return ckks::insecure_version(spec, static_cast<int>(log_n));
}

}  // namespace psm::cmd
