#include "ckks/scheme/chain/parameters.h"

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

ParameterSpec without_bootstrapping(ParameterSpec spec, int compute_levels) {
  spec.stc_levels = 0;
  spec.evalmod_levels = 0;
  spec.cts_levels = 0;
  spec.compute_levels = compute_levels;
  return spec;
}

}  // namespace

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

ParameterSpec secure_n16_leveled(int compute_levels) {
  ParameterSpec spec = without_bootstrapping(secure_n16(), compute_levels);
  spec.name = message("secure_n16_leveled_", compute_levels);
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
  ParameterSpec spec = without_bootstrapping(insecure_bootstrappable(log_n), levels);
  spec.name = message("insecure_leveled_n", log_n, "_", levels);
  spec.p_count = 3;
  spec.secret_hamming_weight = 64;
  return spec;
}

}  // namespace psm::ckks
