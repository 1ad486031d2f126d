// Lesson 6. A bootstrap stage by stage, as only the holder of the secret can see it.
#include "6_bootstrap.h"  // the function to write: of exercises/, or of solutions/

#include "ckks/bootstrap/error_model.h"
#include "ckks/scheme/testing/test_party.h"

using namespace psm::lesson;

// t = m + q_0 I: m is nearest to zero modulo q_0, and I comes from the next prime.
int64_t m_of(const RnsPoly& t, size_t k) { return centered(t.limb(0)[k], t.modulus(0)); }
int64_t i_of(const RnsPoly& t, size_t k) {
  const Modulus& q1 = t.modulus(1);
  const uint64_t q0_i = sub_mod(t.limb(1)[k], reduce_signed(m_of(t, k), q1), q1);
  return centered(mul_mod(q0_i, inverse_mod(t.modulus(0).value % q1.value, q1), q1), q1);
}

// Coefficients k and k + N/2, which hold one complex slot.
std::complex<double> pair(auto part, const RnsPoly& t, size_t k) {
  return std::complex<double>(part(t, k), part(t, k + t.n() / 2));
}

void stage(const char* name, const char* shows, const Ciphertext& c, auto number) {
  section(name, shows);
  line("level, scale", c.level(), bits(c.scale()));
  row("of slots 0 to 3", Slots{number(0), number(1), number(2), number(3)}, 15);
}

int main() {
  title("Lesson 6: a bootstrap, stage by stage");
  TestParty party(insecure_bootstrappable(10));
  const Context& context = party.context;
  say_insecure(context.describe());
  const BootstrapPlan plan(context);
  party.add_keys(plan.key_request());
  const Evaluator& server = *party.evaluator;
  const EvalMod& sine = plan.eval_mod().polynomial();
  const auto down = encode(context, party.encoder, plan.slots_to_coeffs()),
             up = encode(context, party.encoder, plan.coeffs_to_slots());
  const auto slots = [&](const Ciphertext& c, double unit = 1) {
    return [unit, z = party.decrypt(c)](size_t j) { return unit * z[j]; };
  };
  const Slots z = party.random_slots(1);
  const Ciphertext input = party.encrypt(z, plan.entry_level());
  stage("The message", "Four of its slots; hardly a level is left.", input, slots(input));

  Ciphertext c = apply_in_order(down, server, server.rotate(input, plan.pre_rotation()));
  RnsPoly t = party.decryptor.phase(c).poly;
  to_coefficients(t);
  std::vector<size_t> at(4);  // slot j is found in coefficients at[j] and at[j] + N/2
  const auto number = [&](size_t j) { return pair(m_of, t, at[j]) / double{c.scale()}; };
  for (size_t j = 0; j < 4; ++j)
    while (at[j] + 1 < t.n() / 2 && std::abs(number(j) - z[j]) > 1e-4) ++at[j];
  stage("SlotsToCoeffs", "Re and im are now coefficients k and k + N/2.", c, number);

  c = mod_raise(server, c, context.max_level());
  const Ciphertext shown = server.switch_from_ephemeral(c);  // its secret is nobody's
  t = party.decryptor.phase(shown).poly;
  to_coefficients(t);
  int64_t largest = 0;
  for (size_t k = 0; k < t.n(); ++k) largest = std::max(largest, std::abs(i_of(t, k)));
  stage("ModRaise", "m became m + q_0 I, at the highest level; this is I.", shown,
        [&](size_t j) { return pair(i_of, t, at[j]); });
  line("largest |I|, and its bound K", largest, EvalMod::kLargestMultiple);
  c.declare_scale(plan.eval_mod().raised_scale());  // 2 K' q_0, K' > K: no level
  c = apply_in_order(up, server, std::move(c));
  stage("CoeffsToSlots", "Slots of (I + m / q_0) / K', shown times K'.", c,
        slots(c, 2 * sine.half_width()));
  with_exercise([&] {
    c = apply_to_parts(server, c, [&](Ciphertext part) {
      return plan.eval_mod().apply(server, std::move(part));
    });
    stage("EvalMod", "A sine does not see I; thirteen levels are back.", c, slots(c));
    const Slots out = party.decrypt(c);
    const Ciphertext whole = Bootstrapper(context, party.encoder).apply(server, input);
    line("as Bootstrapper has them", party.decrypt(whole) == out);
    const double error = rms_error(out, z) / std::sqrt(2);
    const BootstrapError predicted = predict_error(plan);
    line("error of re and im, predicted", bits(error),
         bits(std::hypot(predicted.polynomial, predicted.rounding)));
  });
}
