// Every operation of an engine on the emulated device: the processor's bits in every size of ring, at the lowest, a
// middle and the highest level of each band of several chains, and in three orders of threads.
#include "ckks/device/device_engine.h"

#include <algorithm>
#include <set>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/device/testing/test_device.h"
#include "ckks/engine/host_engine.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

// The small ones, and a short chain in each of the larger rings.
std::vector<ParameterSpec> parameter_sets() {
  std::vector<ParameterSpec> sets = small_sets();
  for (int log_n = 12; log_n <= kMaxDeviceLogN; ++log_n) {
    sets.push_back(insecure_leveled(log_n, 2));
    sets.back().p_count = 1;  // several digits
  }
  return sets;
}

// One level of one chain: operands on the host and on the device, and both engines.
class Comparison {
 public:
  Comparison(TestParty& party, Level level, ThreadOrder order)
      : party_(party),
        context_(party.context),
        level_(level),
        owned_(test_device({.order = order})),
        device_(*owned_),
        engine_(context_, device_),
        random_(static_cast<uint64_t>(level)) {
    for (int i = 0; i < 3; ++i) {
      host_.push_back(random_ciphertext());
      there_.push_back(host_.back().in(&device_));
    }
  }

  void sums_and_products() {
    const Basis basis{level_ + 1, 0};
    const auto results = [&](const Engine& engine, const std::vector<Ciphertext>& x) {
      std::vector<RnsPoly> out;
      const auto keep = [&](std::span<RnsPoly> polys) {
        for (RnsPoly& poly : polys) out.push_back(std::move(poly));
      };
      const auto make = [&](size_t count) {
        std::vector<RnsPoly> polys;
        while (polys.size() < count) polys.emplace_back(context_.ring(), basis, Form::kNtt, engine.memory());
        return polys;
      };
      const Term signs[] = {{x[0].c, 1}, {x[1].c, -1}}, one[] = {{x[2].c, -1}};
      const Term weights[] = {{x[0].c, 123456789012345}, {x[1].c, -7}, {x[2].c, 1}};
      std::vector<Term> many;
      for (int t = 0; t < kMaxTerms + 3; ++t) many.push_back({x[t % 3].c, t - 9});
      for (const std::span<const Term> terms :
           {std::span<const Term>(signs), std::span<const Term>(one), std::span<const Term>(weights),
            std::span<const Term>(many)}) {
        std::vector<RnsPoly> sum = make(2);
        engine.combine(sum, terms);
        keep(sum);
      }
      for (const bool doubled : {false, true}) {
        std::vector<Factors> factors;
        for (int k = 0; k < (doubled ? kMaxFactors + 2 : 2); ++k)
          factors.push_back({&x[k % 3], &x[(k + 1) % 3]});
        std::vector<RnsPoly> sum = make(3);
        const Engine::Sum wanted{sum, factors, doubled,
                                 doubled ? std::span<const Term>(weights) : std::span<const Term>()};
        engine.multiply_sums({&wanted, 1});
        keep(sum);
      }
      std::vector<RnsPoly> scaled = make(2);
      engine.with_constant(Engine::Arithmetic::kMultiply, scaled, x[0].c, {-12345678, 0x1p70});
      engine.with_constant(Engine::Arithmetic::kAdd, {scaled.data(), 1}, {scaled.data(), 1}, {3, -4});
      for (const size_t period : {size_t{1}, size_t{8}, static_cast<size_t>(context_.slots())}) {
        const Encoder encoder(context_, engine.residue_maker());
        const Plaintext plain = encoder.encode(party_.random_slots(5, period), level_);
        std::vector<RnsPoly> product = make(2);
        engine.with_plain(Engine::Arithmetic::kMultiply, product, x[1].c, plain);
        engine.with_plain(Engine::Arithmetic::kAdd, {&product[1], 1}, {&product[1], 1}, plain);
        keep(product);
      }
      keep(scaled);
      if (level_ > 0) {
        Engine::Pair lower = engine.divide(x[1].c, {level_, 0});
        keep(lower);
      } else {
        Engine::Pair raised = engine.raise(x[1].c, context_.max_level());
        keep(raised);
      }
      return out;
    };
    CHECK(same_bits(results(engine_, there_), results(host_engine_, host_)));
  }

  void key_switches() {
    const GaloisElement g = galois_element(context_, 3);
    // At the top of the level's band: with limbs and digits too many.
    const Level top = context_.chain().bands[context_.band(level_)].top;
    KeySwitchKey key = party_.generator.galois(g, top);
    for (KeySwitchKey::Digit& digit : key.digits)
      for (PackedPoly* half : {&digit.b, &digit.a})
        *half = PackedPoly(residues({top + 1, key.p_count}, Form::kNtt));
    const KeySwitchKey key_there = key.in(&device_);
    const auto results = [&](const Engine& engine, const std::vector<Ciphertext>& x, const KeySwitchKey& k) {
      std::vector<Engine::Pair> out;
      const Hoisted hoisted{&x[0], engine.decompose(x[0].c[1], k.p_count, false)};
      const SwitchOptions plain, turned{.addend0 = &x[0].c[0], .automorphism = g},
          rescaled{.addend0 = &x[1].c[0], .addend1 = &x[1].c[1], .rescale = true};
      out.push_back(engine.switch_key(x[0].c[1], k, plain));
      out.push_back(engine.switch_key(hoisted.digits, k, turned));
      if (level_ > 0) out.push_back(engine.switch_key(x[0].c[1], k, rescaled));

      const auto table = automorphism_table(g, context_.log_n()),
                 one = automorphism_table(1, context_.log_n());
      const GaloisStep step{g, &k, table}, identity{1, nullptr, one};
      const SwitchedSource sources[] = {{&hoisted, &identity}, {&hoisted, &step}};
      const Engine::Pair sum = engine.sum_switched(sources);
      // In several launches.
      out.push_back(engine.sum_switched(std::vector<SwitchedSource>(kMaxKeySources + 1, sources[1])));
      out.push_back(engine.divide(sum, {level_ + 1, 0}));
      for (const Engine::Pair* from : {&sum, &x[0].c})
        for (const Engine::Pair* to : {static_cast<const Engine::Pair*>(nullptr), &sum, &x[1].c})
          out.push_back(engine.giant_step(*from, step, to));
      if (level_ == 0) return out;
      out.push_back(engine.divide(sum, {level_, 0}));
      const Encoder encoder(context_, engine.residue_maker());
      const Plaintext w = encoder.encode(party_.random_slots(6, 16), level_, Scale(1024), true);
      const Plaintext* const weights[] = {&w, &w};
      for (Engine::Pair& pair : engine.divide_weighted(sources, weights)) out.push_back(std::move(pair));
      return out;
    };
    const auto there = results(engine_, there_, key_there), here = results(host_engine_, host_, key);
    REQUIRE(there.size() == here.size());
    for (size_t i = 0; i < here.size(); ++i) {
      CAPTURE(i);
      CHECK(same_bits(there[i], here[i]));
    }
  }

  // Babies and giants, weights of short and of long periods, a lone term, an input that is not rotated, and matrices of
  // more rows than a thread makes.
  void linear_map() {
    if (level_ == 0) return;
    LinearTransform transform{.outputs = 8};
    const auto all = static_cast<size_t>(context_.slots());
    for (int r = 0; r < 6; ++r) {
      const size_t period = r < 3 ? 4 : all;
      transform.terms.push_back({.output = 0,
                                 .giant = r / 3 * 3,
                                 .baby = r % 3,
                                 .weight = Plain(party_.random_slots(7 + r, period))});
      for (const int baby : {0, 1, 2, 5})
        transform.terms.push_back({.output = 1 + r,
                                   .baby = baby,
                                   .weight = Plain(party_.random_slots(20 + r, baby < 2 ? 8 : all))});
    }
    transform.terms.push_back({.output = 7, .baby = 5, .weight = Plain(party_.random_slots(30, 2))});
    compare_map(transform);
    transform.divides_sources = true;
    compare_map(transform);
    transform.divides_sources = false;
    transform.from_ephemeral = true;
    compare_map(transform);
  }

 private:
  void compare_map(const LinearTransform& transform) {
    const auto encode = [&](const ResidueMaker* maker) {
      return EncodedTransform(context_, Encoder(context_, maker), transform, level_, context_.scale(level_),
                              context_.scale(level_ - 1));
    };
    const EncodedTransform here = encode(nullptr), there = encode(&engine_);
    KeyRequest request;
    request_keys(here.schedule(), context_.chain(), level_, request);
    const EvaluationKeys keys = party_.generator.evaluation_keys(request), keys_there = keys.in(&device_);
    const Ciphertext input = party_.encrypt(party_.random_slots(1), level_), moved = input.in(&device_);
    const Ciphertext* const inputs[] = {&input};
    const Ciphertext* const inputs_there[] = {&moved};
    const std::vector<Ciphertext> expected = here.apply(Evaluator(context_, keys), inputs),
                                  out = there.apply(Evaluator(engine_, keys_there), inputs_there);
    REQUIRE(out.size() == expected.size());
    for (size_t i = 0; i < out.size(); ++i) {
      CAPTURE(i);
      CHECK(same_bits(out[i].c, expected[i].c));
    }
  }

  // Random residues, with extremes in between: of values or of coefficients.
  RnsPoly residues(Basis basis, Form form) {
    RnsPoly poly(context_.ring(), basis, form);
    for (int j = 0; j < poly.limbs(); ++j) {
      const uint64_t q = poly.modulus(j).value, extremes[] = {0, q - 1, q / 2, q / 2 + 1};
      for (size_t k = 0; k < poly.n(); ++k)
        poly.limb(j)[k] = k % 8 < std::size(extremes) ? extremes[k % 8] : random_.integer(q);
    }
    if (form == Form::kCoefficient) to_ntt(poly);
    return poly;
  }
  Ciphertext random_ciphertext() {
    const Basis basis{level_ + 1, 0};
    return {{residues(basis, Form::kNtt), residues(basis, Form::kCoefficient)}, context_.scale(level_), {}};
  }

  TestParty& party_;
  const Context& context_;
  const Level level_;
  const std::unique_ptr<Device> owned_;
  Device& device_;
  const DeviceEngine engine_;
  const HostEngine host_engine_{context_};
  TrainingRandom random_;
  std::vector<Ciphertext> host_, there_;
};

TEST_CASE("the device has the processor's bits, operation by operation") {
  int compared = 0;
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty party(spec);
    const bool is_small = party.context.log_n() < 12;
    for (const Level level :
         is_small ? levels_of_bands(party.context) : std::set<Level>{0, party.context.max_level()}) {
      CAPTURE(level);
      const auto order = static_cast<ThreadOrder>(compared++ % 3);
      Comparison comparison(party, level, order);
      comparison.sums_and_products();
      comparison.key_switches();
      // In the rings between it has no program that the others lack, and takes long.
      if (is_small || party.context.log_n() == kMaxDeviceLogN) comparison.linear_map();
    }
  }
  CHECK(compared >= 22);
}

TEST_CASE("plaintexts of every period are the host's, and their coefficients go up instead of limbs") {
  const Context context(insecure_leveled(14, 4));
  const std::unique_ptr<Device> owned = test_device({.order = ThreadOrder::kShuffled});
  Device& device = *owned;
  const DeviceEngine engine(context, device);
  const Encoder here(context), there(context, &engine);
  for (int log_period = 0; log_period < context.log_n(); ++log_period) {
    CAPTURE(log_period);
    const std::vector<Complex> values = random_slots(8 + log_period, size_t{1} << log_period);
    const Scale scale(log_period % 2 == 0 ? 0x1p40 : 0x1p66);  // coefficients below 2^62, and above
    const Plaintext expected = here.encode(values, context.max_level(), scale, true);
    device.take_log();
    const Plaintext encoded = there.encode(values, context.max_level(), scale, true);
    CHECK(device.take_log().uploaded_bytes == 16 * values.size());
    std::vector<uint64_t> residues(expected.bytes() / sizeof(uint64_t));
    REQUIRE(encoded.bytes() == expected.bytes());
    device.download(residues.data(), encoded.limb(0), residues.size());
    CHECK(std::equal(residues.begin(), residues.end(), expected.limb(0)));
  }
  // One that is in the host's memory would be read there by an emulated device alone.
  std::vector<RnsPoly> out, a;
  for (std::vector<RnsPoly>* polys : {&out, &a})
    polys->emplace_back(context.ring(), Basis{context.max_level() + 1, 0}, Form::kNtt, &device);
  CHECK(is_stopped([&] {
    engine.with_plain(Engine::Arithmetic::kMultiply, out, a,
                      here.encode(random_slots(1, 8), context.max_level()));
  }));
}

TEST_CASE("a ring, primes or digits beyond a device's limits are refused") {
  const auto refused = [](const ParameterSpec& spec, const std::string& why) {
    CAPTURE(why);
    const Context context(spec);
    EmulatedDevice device;
    CHECK_REFUSED(DeviceEngine(context, device), why);
  };
  const std::string rings = "in rings of 2^10 to 2^16 coefficients, and this one has 2^";
  refused(insecure_leveled(9, 2), rings + "9; compute without --device");
  refused(insecure_leveled(17, 1), rings + "17; compute without --device");
  refused(insecure_leveled(10, 56), "with at most 64 primes, and these parameters have ");
  ParameterSpec digits = insecure_leveled(10, 40);
  digits.p_count = 1;
  refused(digits, "with at most 15 digits, and these parameters have 41; compute without --device");
}

}  // namespace
}  // namespace psm::ckks
