#include <numeric>
#include <set>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/program/commit/check.h"
#include "ckks/program/testing/test_machine.h"

namespace psm::program {
namespace {

Digest digest_of_number(size_t number) { return sha256(&number, sizeof number); }

TEST_CASE("a leaf and its path lead to the root, and nothing else does") {
  for (size_t leaves = 1; leaves <= 17; ++leaves) {
    std::vector<Digest> digests;
    for (size_t i = 0; i < leaves; ++i) digests.push_back(digest_of_number(i));
    const MerkleTree tree(digests);
    std::set<Digest> roots{tree.root()};
    for (size_t i = 0; i < leaves; ++i) {
      CAPTURE(i);
      const std::vector<Digest> path = tree.path(i);
      CHECK(leads_to(tree.root(), tree.leaf(i), i, leaves, path));
      CHECK_FALSE(leads_to(tree.root(), digest_of_number(leaves), i, leaves, path));
      for (size_t other = 0; other < leaves; ++other)
        if (other != i) CHECK_FALSE(leads_to(tree.root(), tree.leaf(i), other, leaves, path));
      for (size_t at = 0; at < path.size(); ++at) {
        std::vector<Digest> forged = path;
        forged[at][at % 32] ^= 1;
        CHECK_FALSE(leads_to(tree.root(), tree.leaf(i), i, leaves, forged));
        forged = path;
        forged.erase(forged.begin() + static_cast<std::ptrdiff_t>(at));
        CHECK_FALSE(leads_to(tree.root(), tree.leaf(i), i, leaves, forged));
      }
      std::vector<Digest> longer = path;
      longer.push_back(digests[0]);
      CHECK_FALSE(leads_to(tree.root(), tree.leaf(i), i, leaves, longer));
      std::vector<Digest> changed = digests;
      changed[i][0] ^= 1;
      roots.insert(MerkleTree(changed).root());
    }
    CHECK(roots.size() == leaves + 1);  // every leaf counts
  }
}

// Labelled steps with every kind of crossing: an input read late, a value read in two steps, an output in the middle, and
// a bootstrap of two real values.
Program labelled() {
  Builder b(512);
  const Value x = b.input("x"), r = b.input("r", true);
  Value u, v, w;
  {
    const Builder::Scope scope(b, "turn");
    const std::vector<Value> turned = b.rotate_all(x, std::vector<int>{1, -2});
    u = b.multiply(turned[0], turned[1]);
    v = b.twice_real_part(b.multiply_constant(b.conjugate(u), 0.2));
  }
  {
    const Builder::Scope scope(b, "series");
    w = b.multiply_constant(b.series(v, {{0.1, 0.2, 0.05, 0.3}}), 0.4);
    b.output("series", w);
  }
  {
    const Builder::Scope scope(b, "refresh");
    const std::vector<Value> fresh = b.refresh(std::vector<Value>{w, r});
    for (int i = 0; i < 13; ++i) w = b.multiply(i == 0 ? fresh[0] : w, fresh[1]);
  }
  {
    const Builder::Scope scope(b, "sum");
    b.output("sum", b.add(b.add_plain(w, ckks::Plain(wave(64, 0.3))), b.multiply(v, r)));
  }
  return std::move(b).finish();
}

// The program on a machine, and a server whose results can be altered.
struct Setting {
  Setting() : test(ckks::insecure_bootstrappable(10), labelled()), steps(test.plan_) {
    inputs = test.encrypt({{"x", wave(512, 0.1)}, {"r", wave(512, 0.2, true)}});
    every.resize(steps.size());
    std::iota(every.begin(), every.end(), size_t{0});
  }

  void recompute(const Plan& plan, const RunOptions& options) {
    EncryptedMachine(plan, test.party.encoder, *test.party.evaluator, &test.bootstrappers).run({}, options);
  }

  struct Served {
    NamedCiphertexts outputs;
    Digest root;
    Opening opening;
  };
  // What a server sends that changes one bit of a value, whatever follows from it.
  Served serve(const std::vector<size_t>& challenged, Value altered = {}) {
    CommittedRun run(steps, challenged);
    Served served;
    std::map<int, ckks::Ciphertext> made;
    const auto keep = [&](Value value, const ckks::Ciphertext& ciphertext) {
      ckks::Ciphertext& mine = made[value.id] = ciphertext.clone();
      if (value == altered) mine.c[1].limb(0)[7] ^= 1;
      run.observe(value, mine);
    };
    for (const NamedValue& input : test.plan_.program.inputs) keep(input.value, inputs.at(input.name));
    for (size_t step = 0; step < steps.size(); ++step) {
      RunOptions options;
      options.receive = [&](Value value) { return made.at(value.id).clone(); };
      options.observe = [&](size_t, Value value, const ckks::Ciphertext& ciphertext) {
        if (!made.contains(value.id)) keep(value, ciphertext);
      };
      recompute(plan_of(steps, step, test.party.context.chain()), options);
    }
    for (const NamedValue& output : test.plan_.program.outputs)
      served.outputs[output.name] = made.at(output.value.id).clone();
    served.root = run.root();
    served.opening = std::move(run).open();
    return served;
  }

  // What the auditor says; empty if all is as it should be.
  std::string verdict(const Served& served, const std::vector<size_t>& challenged, int exit_code) {
    const auto check = [&] {
      check_opening(steps, test.party.context.chain(), served.root, challenged, served.opening, inputs,
                    served.outputs,
                    [&](const Plan& plan, const RunOptions& options) { recompute(plan, options); });
    };
    return refusal_of(check, exit_code);
  }

  TestMachine test;
  Steps steps;
  NamedCiphertexts inputs;
  std::vector<size_t> every;
};

Setting& setting() {
  static Setting made;
  return made;
}

TEST_CASE("every instruction is in one step, and what crosses between steps is committed to") {
  const Steps& steps = setting().steps;
  const Program& program = setting().test.plan_.program;
  REQUIRE(steps.size() == 4);
  std::vector<int> seen(program.instructions.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const size_t i : steps.at(s).instructions) {
      ++seen[i];
      CHECK(program.instructions[i].label == steps.label(s));
    }
  }
  for (size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == (program.instructions[i].opcode == Opcode::kInput ? 0 : 1));
  CHECK(steps.at(0).results.size() == 1);  // u stays inside
  CHECK(steps.at(1).arguments.size() == 1);
  CHECK(steps.at(2).arguments.size() == 2);  // w and r
  CHECK(steps.at(3).arguments.size() == 3);
  CHECK(steps.crossing().size() == 6);  // x, r, v, w, the powers, the sum
}

TEST_CASE("an honest run passes whatever is challenged, with the root of the whole program's machine") {
  Setting& s = setting();
  const Setting::Served served = s.serve(s.every);
  CHECK(s.verdict(served, s.every, 0).empty());
  CommittedRun whole(s.steps, {});
  RunOptions options;
  options.observe = [&](size_t, Value value, const ckks::Ciphertext& c) { whole.observe(value, c); };
  const RunResult result = s.test.machine->run(s.inputs, options);
  CHECK(whole.root() == served.root);
  for (const auto& [name, ciphertext] : result.outputs)
    CHECK(ckks::same_bits(ciphertext, served.outputs.at(name)));
  CHECK(s.verdict(s.serve({}), {}, 0).empty());
}

TEST_CASE("a server that alters one step's result is found if this step is challenged, and only then") {
  Setting& s = setting();
  for (size_t altered = 0; altered < s.steps.size(); ++altered) {
    const Value result = s.steps.at(altered).results.front();
    for (size_t challenged = 0; challenged < s.steps.size(); ++challenged) {
      CAPTURE(altered);
      CAPTURE(challenged);
      const std::string said = s.verdict(s.serve({challenged}, result), {challenged}, 1);
      if (challenged != altered)
        CHECK(said.empty());
      else
        CHECK(contains(said, message("step ", altered, " (", s.steps.label(altered), ") was not computed")));
    }
  }
}

TEST_CASE("other prompts, other answers and openings that do not fit the root are refused") {
  Setting& s = setting();
  const std::vector<size_t> two{1, 3};
  CHECK(contains(s.verdict(s.serve(two, s.test.plan_.program.inputs[1].value), two, 1), "other prompts"));
  Setting::Served served = s.serve(two);
  // With one bit of it flipped.
  const auto check_flipped = [&](auto& number, int exit_code, const std::string& why) {
    number ^= 1;
    CHECK(contains(s.verdict(served, two, exit_code), why));
    number ^= 1;
  };
  check_flipped(served.outputs.at("sum").c[0].limb(0)[0], 1, "other answers");
  REQUIRE(s.verdict(served, two, 0).empty());
  CHECK(contains(s.verdict(served, {1}, 2), "paths"));  // what another challenge asks for
  check_flipped(served.root[5], 2, "does not lead to the committed root");
  for (Proof& proof : served.opening.proofs) {
    check_flipped(proof.path.back()[31], 2, "does not lead to the committed root");
    check_flipped(proof.leaf[0], 2, "does not lead to the committed root");
  }
  for (auto& [value, ciphertext] : served.opening.ciphertexts)
    check_flipped(ciphertext.c[1].limb(0)[0], 2, message("value ", value, " was opened with other bits"));
  served.opening.proofs.pop_back();
  CHECK(contains(s.verdict(served, two, 2), "paths"));
}

}  // namespace
}  // namespace psm::program
