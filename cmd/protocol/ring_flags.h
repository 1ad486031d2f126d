// Flags for parameters.
#pragma once

#include <cstdio>
#include <string>

#include "ckks/base/error.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/security.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

// Flags for a ring that comes with a command's files.
struct FileRingFlags {
  explicit FileRingFlags(Command& flags)
      : insecure(
            flags.truth("insecure", false, "allow a ring that offers no security (for trying things out)")) {}
  // Throws Error if a context is insecure and --insecure was not given; warns if it was.
  void require_security(const ckks::Context& context) const {
    if (!context.spec().insecure) return;
    if (!insecure)
      throw Error(message("these files are of the ring ", context.spec().name,
                          ", which offers no security; make secure ones, or add --insecure"));
    std::fprintf(stderr, "warning: INSECURE ring %s: nothing here is protected\n",
                 context.spec().name.c_str());
  }

  const bool& insecure;
};

// Flags for the parameters of a model that is compiled: a secure set or, with --insecure, its chain in a smaller ring.
struct RingFlags : FileRingFlags {
  explicit RingFlags(Command& flags)
      : FileRingFlags(flags),
        log_n(flags.integer("log-n", 16, 11, 16, "log2 of the ring degree; below 16 nothing is secure")),
        secret(flags.text("secret", "sparse",
                          "where keys are made: a sparse secret (weight 192) or a dense one")) {}
  // Throws Error for a smaller ring without --insecure, and for an unknown kind of secret.
  ckks::ParameterSpec spec() const {
    if (secret != "sparse" && secret != "dense")
      throw Error(message("--secret ", secret, " is not offered; there are: sparse, dense"));
    const ckks::ParameterSpec spec = secret == "dense" ? ckks::secure_n16_dense() : ckks::secure_n16();
    if (log_n == spec.log_n) return spec;
    if (!insecure)
      throw Error(message("--log-n ", log_n,
                          " offers no security; leave it at 16, or add --insecure to try things out"));
    return ckks::insecure_version(spec, static_cast<int>(log_n));
  }

  const int64_t& log_n;
  const std::string& secret;
};

inline Json parameters_json(const ckks::Context& context) {
  return Json::Object{{"log_n", context.log_n()},
                      {"log_q", context.log2_q(context.max_level())},
                      {"log_p", context.log2_p(context.max_level())},
                      {"log_qp", context.log2_qp()},
                      {"secret_hamming_weight", context.spec().secret_hamming_weight},
                      {"security_bits", context.spec().insecure ? 0 : ckks::kSecurityBits},
                      {"usable_levels", context.compute_level() - context.entry_level()},
                      {"name", context.spec().name}};
}

}  // namespace psm::cmd
