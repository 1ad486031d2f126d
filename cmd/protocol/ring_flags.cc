#include "cmd/protocol/ring_flags.h"

#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/chain/security.h"

namespace psm::cmd {

FileRingFlags::FileRingFlags(Command& flags)
    : insecure(
          flags.truth("insecure", false, "allow a ring that offers no security (for trying things out)")),
      backend(flags.text("backend", "",
                         "kernels of the ring: scalar, avx2 or avx512ifma; the fastest unless given")) {
  flags.when_read([this] {
    if (!backend.empty()) ckks::select_backend(backend);
  });
}

void FileRingFlags::require_security(const ckks::Context& context) const {
  if (!context.spec().insecure) return;
  if (!insecure) {
    throw Error(message("these files are of the ring ", context.spec().name,
                        ", which offers no security; make secure ones, or add --insecure"));
  }
  std::fprintf(stderr, "warning: INSECURE ring %s: nothing here is protected\n", context.spec().name.c_str());
}

Json parameters_json(const ckks::Context& context) {
  return Json::Object{{"log_n", context.log_n()},
                      {"log_q", context.log2_q(context.max_level())},
                      {"log_p", context.log2_p(context.max_level())},
                      {"log_qp", context.log2_qp()},
                      {"secret_hamming_weight", context.spec().secret_hamming_weight},
                      {"security_bits", ckks::claimed_security_bits(context.spec())},
                      {"usable_levels", context.compute_level() - context.entry_level()},
                      {"name", context.spec().name}};
}

}  // namespace psm::cmd
