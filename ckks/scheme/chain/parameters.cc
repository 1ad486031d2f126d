#include "ckks/scheme/chain/parameters.h"

#include "ckks/base/error.h"

namespace psm::ckks {

ParameterSpec secure_n16() {
  ParameterSpec spec;
  spec.name = "secure_n16";
  return spec;
}

ParameterSpec secure_n16_dense() {
  ParameterSpec spec;
  spec.name = "secure_n16_dense";
  spec.secret_hamming_weight = 0;
  spec.p_count = 9;
  return spec;
}

ParameterSpec insecure_version(ParameterSpec spec, int log_n) {
  spec.name = message("insecure_n", log_n, "_of_", spec.name);
  spec.log_n = log_n;
  spec.insecure = true;
  return spec;
}

ParameterSpec insecure_bootstrappable(int log_n) {
  ParameterSpec spec = insecure_version(secure_n16(), log_n);
  spec.name = message("insecure_bootstrappable_n", log_n);
  return spec;
}

ParameterSpec insecure_leveled(int log_n, int levels) {
  ParameterSpec spec = insecure_version(secure_n16(), log_n);
  spec.name = message("insecure_leveled_n", log_n, "_", levels);
  spec.stc_levels = spec.evalmod_levels = spec.cts_levels = 0;
  spec.compute_levels = levels;
  spec.p_count = 3;
  spec.secret_hamming_weight = 64;
  return spec;
}

}  // namespace psm::ckks
