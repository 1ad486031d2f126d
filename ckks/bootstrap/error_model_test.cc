#include "ckks/bootstrap/error_model.h"

#include "ckks/base/testing/child.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"

namespace psm::ckks {
namespace {

ParameterSpec with(ParameterSpec spec, int weight, int log_n) {
  spec = insecure_version(spec, log_n);
  spec.secret_hamming_weight = weight;
  return spec;
}

// Other factors, other sizes of primes, digits as large as one special prime.
ParameterSpec odd_set() {
  ParameterSpec spec;
  spec.name = "odd";
  spec.stc_levels = 2, spec.cts_levels = 3;
  spec.compute_levels = 3;
  spec.evalmod_bits = 47, spec.cts_bits = 49;
  spec.p_count = 1;
  return spec;
}

TEST_CASE("a bootstrap's errors have the predicted law: mean, worst component and tail") {
  int compared = 0;
  for (const ParameterSpec& spec :
       {with(secure_n16(), 192, 10), with(secure_n16(), 0, 11), with(secure_n16_dense(), 0, 12),
        with(odd_set(), 192, 11), with(odd_set(), 0, 10)}) {
    CAPTURE(spec.name);
    CAPTURE(spec.secret_hamming_weight);
    TestBootstrap party(spec);
    const Context& context = party.context;
    const BootstrapPlan& plan = party.bootstrapper.plan();
    const auto compare = [&](const std::vector<Complex>& z, const std::vector<ErrorTerm>& law) {
      const auto n = static_cast<size_t>(context.slots());
      const std::vector<Complex> out = party.decrypt(party.bootstrapped(z));
      const Precision measured = precision(out, z);
      const auto [least, most] = precision_range(law, n, n);
      MESSAGE(spec.name, " h = ", spec.secret_hamming_weight, ": mean ", measured.mean, " bits of ",
              least.mean, " to ", most.mean, "; worst ", measured.worst, " of ", least.worst, " to ",
              most.worst);
      CHECK(measured.mean > least.mean);
      CHECK(measured.mean < most.mean);
      CHECK(measured.worst > least.worst);
      CHECK(measured.worst < most.worst);
      CHECK(has_tail(law, 0.02, out, z));  // normal errors would leave a tenth of them
      ++compared;
    };
    compare(random_slots(1, context.slots()), error_law(plan));
    compare(std::vector<Complex>(context.slots()), error_law(plan, {{0.0}}));
  }
  CHECK(compared == 10);
}

TEST_CASE("a sparse bootstrap, whose trace and recombination the law leaves out, is refused") {
  const Context context(insecure_bootstrappable(10));
  const BootstrapPlan sparse(context, {64});
  CHECK(is_stopped([&] { error_law(sparse); }));
}

}  // namespace
}  // namespace psm::ckks
