// The test vectors (README.md), computed again on every backend.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/random/sha256.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/repeatable_random.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/poly/evaluate_series.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/testing/ciphertext_files.h"

namespace psm::ckks {
namespace {

// ---- reading -----------------------------------------------------------------------------------------------------

Json read(const std::string& file) {
  return parse_json(read_file(runfile("testdata/vectors/" + file), 1 << 20), file);
}

int64_t integer(const Json& of, const char* key) {
  return of.at(key, key).integer(key, INT64_MIN, INT64_MAX);
}
int number(const Json& of, const char* key) { return static_cast<int>(integer(of, key)); }
Level level_in(const Json& of) { return Level::at(number(of, "level")); }
Scale scale_in(const Json& scale) { return Scale(std::stod(scale.string("scale"))); }  // hexadecimal

std::vector<int64_t> integers(const Json& list) {
  std::vector<int64_t> out;
  for (const Json& item : list.array("integers"))
    out.push_back(item.integer("integer", INT64_MIN, INT64_MAX));
  return out;
}

ParameterSpec specification(const Json& list) {
  const std::vector<int64_t> numbers = integers(list);
  REQUIRE(numbers.size() == 15);
  ParameterSpec s;
  s.name = "vectors";
  s.insecure = true;
  auto next = numbers.begin();
  for_each_number(s, [&](int& number) { number = static_cast<int>(*next++); });
  return s;
}

// One period of the vector that make_vectors.py encodes.
Slots sample(int period, double factor = 1) {
  Slots out;
  for (int j = 0; j < period; ++j)
    out.emplace_back(factor * ((55 * j + 11) % 101 - 50) / 64, factor * ((53 * j + 29) % 97 - 48) / 64);
  return out;
}

// ---- comparing ---------------------------------------------------------------------------------------------------

// Limbs of polynomials against what a vector says of them.
class Answer {
 public:
  void add(const uint64_t* limb, size_t n, bool is_first) {
    sum_.update(limb, n * sizeof(uint64_t));
    if (is_first) first_.insert(first_.end(), limb, limb + 4);
  }
  void add(const RnsPoly& poly) {
    for (int j = 0; j < poly.limbs(); ++j) add(poly.limb(j), poly.n(), j == 0);
  }
  void check(const Json& expected) {
    CHECK(first_ == integers(expected.at("first", "first")));
    const Sha256::Digest digest = sum_.digest();
    CHECK(hex(digest.data(), digest.size()) == expected.at("sha256", "sha256").string("sha256"));
  }

 private:
  Sha256 sum_;
  std::vector<int64_t> first_;
};

void for_each_backend(const std::function<void(const Kernels&)>& body) {
  for (const Kernels* backend : available_backends()) {
    CAPTURE(backend->name);
    select_backend(backend->name);
    body(*backend);
  }
}

// ---- one ring ----------------------------------------------------------------------------------------------------

// Draws from the kernel in the order of make_vectors.py: that of TestParty's members.
struct Party : TestParty {
  using TestParty::TestParty;
  std::map<std::string, Ciphertext> values{};

  void make_keys(const Json& list);
  void check_encoding(const Json& encoding) const;
  std::vector<Ciphertext> run(const Evaluator& evaluator, const Json& step);

  Plaintext plain(const Json& step, Level level) const {
    return encoder.encode(sample(number(step, "period")), level);
  }
};

void check_parameters(const Json& ring, const Context& c) {
  const auto primes = [](const Json& list, auto&& prime) {
    const std::vector<int64_t> expected = integers(list);
    for (size_t i = 0; i < expected.size(); ++i)
      REQUIRE(static_cast<int64_t>(prime(static_cast<int>(i))) == expected[i]);
    return static_cast<int>(expected.size());
  };
  REQUIRE(primes(ring.at("q", "q"), [&](int i) { return c.q(i); }) == c.max_level() + 1);
  REQUIRE(primes(ring.at("p", "p"), [&](int i) { return c.p(i); }) == c.ring().p_count());
  const Json::Array& scales = ring.at("scales", "scales").array("scales");
  REQUIRE(scales.size() == c.scales().size());
  for (size_t l = 0; l < scales.size(); ++l) CHECK(scale_in(scales[l]) == c.scales()[l]);
  const Json::Array& bands = ring.at("bands", "bands").array("bands");
  REQUIRE(bands.size() == c.chain().bands.size());
  for (size_t b = 0; b < bands.size(); ++b) {
    const Gadget& gadget = c.chain().bands[b];
    CHECK(number(bands[b], "top") == gadget.top);
    CHECK(number(bands[b], "special") == gadget.p_count);
    std::vector<int64_t> ends;
    for (const DigitRange& digit : gadget.digits) ends.push_back(digit.end);
    CHECK(integers(bands[b].at("digits", "digits")) == ends);
  }
  CHECK(hex(c.fingerprint()) == ring.at("fingerprint", "fingerprint").string("fingerprint"));
}

void Party::make_keys(const Json& list) {
  const auto name_in = [&](const Json& key) {
    return key_name(context.chain(), static_cast<KeyRole>(number(key, "role")),
                    static_cast<GaloisElement>(integer(key, "element")), level_in(key));
  };
  KeyRequest request;
  for (const Json& key : list.array("keys")) request.need(name_in(key));
  keys = generator.evaluation_keys(request);
  REQUIRE(keys.keys.size() == list.array("keys").size());
  for (const Json& key : list.array("keys")) {
    const KeyName name = name_in(key);
    CAPTURE(number(key, "role"));
    CAPTURE(name.element);
    const KeySwitchKey& made = keys.keys.at(use_of(context, name));
    Answer answer;
    for (const KeySwitchKey::Digit& digit : made.digits) answer.add(digit.b.unpack());
    answer.check(key.at("b", "b"));
  }
}

void Party::check_encoding(const Json& encoding) const {
  const Level level = level_in(encoding);
  const Scale scale = scale_in(encoding.at("scale", "scale"));
  const Slots values = sample(number(encoding, "period"));
  const Encoder::Coefficients found = encoder.coefficients(values, level, scale);
  const std::vector<int64_t> expected = integers(encoding.at("coefficients", "coefficients"));
  CHECK(std::equal(found.data(), found.data() + found.size(), expected.begin(), expected.end()));
  const int special = number(encoding, "special");
  if (special > 0) REQUIRE(special == context.p_count(level));
  const Plaintext plaintext = encoder.encode(values, level, scale, special > 0);
  Answer answer;
  answer.add(plaintext.expand());
  answer.check(encoding.at("residues", "residues"));
  const Slots decoded = decode(plaintext);
  for (size_t j = 0; j < decoded.size(); ++j)
    CHECK(std::abs(decoded[j] - values[j % values.size()]) < 0x1p-34);
}

std::vector<Ciphertext> Party::run(const Evaluator& evaluator, const Json& step) {
  const std::string& operation = step.at("operation", "operation").string("operation");
  std::vector<const Ciphertext*> of;
  for (const Json& name : step.at("of", "of").array("of")) of.push_back(&values.at(name.string("of")));
  const auto x = [&]() -> const Ciphertext& { return *of.at(0); };
  const auto y = [&]() -> const Ciphertext& { return *of.at(1); };
  std::vector<Ciphertext> out;
  const auto is = [&](const char* name, const std::function<Ciphertext()>& compute) {
    if (operation == name) out.push_back(compute());
  };
  is("encrypt", [&] { return encryptor.encrypt(plain(step, level_in(step))); });
  is("encrypt_seeded", [&] { return expand(SeededEncryptor(secret).encrypt(plain(step, level_in(step)))); });
  is("add", [&] { return evaluator.add(x(), y()); });
  is("subtract", [&] { return evaluator.sub(x(), y()); });
  is("times_i", [&] { return evaluator.multiply_by_i(x()); });
  is("add_constant", [&] {
    return evaluator.add_scalar(x(), {step.at("re", "re").number("re"), step.at("im", "im").number("im")});
  });
  is("multiply_plain",
     [&] { return evaluator.rescale(evaluator.multiply_plain(x(), plain(step, x().level()))); });
  is("multiply", [&] { return evaluator.multiply_rescale(x(), y()); });
  is("sum_of_products", [&] {
    const Factors factors[] = {{of.at(0), of.at(1)}, {of.at(2), of.at(3)}};
    return evaluator.relinearise_rescale(evaluator.sum_of_products(factors));
  });
  is("multiply_without_rescale", [&] { return evaluator.multiply(x(), y()); });
  is("rescale", [&] { return evaluator.rescale(x()); });
  is("drop_to_level", [&] { return evaluator.drop_to_level(x(), level_in(step)); });
  is("rotate", [&] { return evaluator.rotate(x(), number(step, "offset")); });
  is("rotate_hoisted", [&] { return evaluator.rotate(evaluator.hoist(x()), number(step, "offset")); });
  is("conjugate", [&] { return evaluator.conjugate(x()); });
  is("sum_of_rotations", [&] {
    std::vector<GaloisElement> elements{1};
    for (const int64_t offset : integers(step.at("offsets", "offsets")))
      elements.push_back(galois_element(context, static_cast<int>(offset)));
    return evaluator.sum_galois(x(), elements);
  });
  is("series", [&] {
    Series series;
    for (const Json& c : step.at("coefficients", "c").array("c"))
      series.coefficients.push_back(c.number("c"));
    std::vector<uint64_t> primes;
    for (Level level = 0; level <= x().level(); ++level) primes.push_back(context.q(level));
    const SeriesPlan plan =
        plan_series(series, x().level(), x().scale(), context.scale(x().level() - series.depth()), primes);
    return evaluate_series(evaluator, plan, x());
  });
  is("mod_raise", [&] {
    const Ciphertext raised = evaluator.mod_raise(evaluator.switch_to_ephemeral(x()), context.max_level());
    return evaluator.switch_from_ephemeral(raised);
  });
  is("eval_mod", [&] { return EvalModStage(context).apply(evaluator, x().clone()); });
  is("bootstrap", [&] { return Bootstrapper(context, encoder).apply(evaluator, x()); });
  if (operation == "linear") {
    LinearTransform transform{.outputs = 2};
    transform.divides_sources = step.at("divides_sources", "divides_sources").truth("divides_sources");
    for (const Json& item : step.at("terms", "terms").array("terms")) {
      const std::vector<int64_t> t = integers(item);
      transform.terms.push_back({.output = static_cast<int>(t[0]),
                                 .giant = static_cast<int>(t[1]),
                                 .baby = static_cast<int>(t[2]),
                                 .conjugate = t[3] != 0,
                                 .weight = Plain(sample(4, static_cast<double>(t[4])))});
    }
    const Level level = x().level();
    out = EncodedTransform(context, encoder, transform, level, context.scale(level), context.scale(level - 1))
              .apply(evaluator, of);
  }
  return out;
}

TEST_CASE("every backend transforms to the values of the definition, and back") {
  const Json vectors = read("vectors.json");
  for_each_backend([&](const Kernels& kernels) {
    for (const Json& transform : vectors.at("transforms", "transforms").array("transforms")) {
      const Modulus q(static_cast<uint64_t>(integer(transform, "prime")));
      const NttTables tables(number(transform, "log_n"), q);
      std::vector<uint64_t> in(tables.n()), out(tables.n()), back(tables.n());
      for (size_t i = 0; i < in.size(); ++i) in[i] = pow_mod(i + 3, 1000, q);
      kernels.ntt_forward(out.data(), in.data(), tables);
      Answer answer;
      answer.add(out.data(), out.size(), true);
      answer.check(transform.at("result", "result"));
      kernels.ntt_inverse(back.data(), out.data(), tables);
      CHECK(back == in);
    }
  });
}

TEST_CASE("every backend makes the keys, the encodings and the results of the vectors, bit by bit") {
  const Json vectors = read("vectors.json");
  for_each_backend([&](const Kernels&) {
    for (const Json& ring : vectors.at("rings", "rings").array("rings")) {
      restart_kernel_randomness();
      Party party(specification(ring.at("specification", "specification")));
      check_parameters(ring, party.context);
      const std::vector<int64_t> secret = integers(ring.at("secret", "secret"));
      const auto& own = party.secret.coefficients();
      CHECK(std::equal(own.begin(), own.end(), secret.begin(), secret.end()));
      Answer answer;
      answer.add(party.public_key.b), answer.add(party.public_key.a);
      answer.check(ring.at("public", "public"));
      party.make_keys(ring.at("keys", "keys"));
      for (const Json& encoding : ring.at("encodings", "encodings").array("encodings"))
        party.check_encoding(encoding);
      for (const Json& step : ring.at("steps", "steps").array("steps")) {
        const std::string& name = step.at("name", "name").string("name");
        CAPTURE(name);
        std::vector<Ciphertext> results = party.run(*party.evaluator, step);
        REQUIRE(!results.empty());
        Answer result;
        for (const Ciphertext& one : results)
          for (const RnsPoly& poly : one.c) result.add(poly);
        result.check(step.at("result", "result"));
        party.values.emplace(name, std::move(results[0]));
      }
    }
  });
}

TEST_CASE("hostile files of ciphertexts are refused for the reason that the vectors give") {
  const Json hostile = read("hostile.json");
  const Context context(specification(hostile.at("specification", "specification")));
  const auto most = static_cast<size_t>(integer(hostile, "read_at_most"));
  int refused = 0;
  for (const Json& file : hostile.at("files", "files").array("files")) {
    const std::string &what = file.at("what", "what").string("what"),
                      &refusal = file.at("refusal", "refusal").string("refusal");
    CAPTURE(what);
    const std::optional<std::string> bytes = from_hex(file.at("file", "file").string("file"));
    REQUIRE(bytes);
    const std::string said =
        refusal_of([&] { wire::read_ciphertexts(ByteSource("the file", *bytes), context, most); });
    refused += !said.empty();
    CAPTURE(said);
    CHECK(said.empty() == refusal.empty());
    CHECK(said.find(refusal) != std::string::npos);
  }
  CHECK(refused > 20);
}

}  // namespace
}  // namespace psm::ckks
