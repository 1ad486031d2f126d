#include "attention/ends/packing.h"

#include <set>

#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelConfig shape(int width, int heads, int ffn) {
  return {.vocab = 2, .context = 512, .layers = 1, .width = width, .heads = heads, .ffn = ffn};
}

TEST_CASE("the Pythia-70M shape with 128 tokens fills one ciphertext of 2^15 slots") {
  const Packing p = make_packing(shape(512, 8, 2048), 128, 1 << 15);
  CHECK(p.features == 256);
  CHECK(p.prompts == 1);
  CHECK(p.state_ciphertexts() == 1);
  CHECK(p.head_ciphertexts() == 1);
  CHECK(p.ffn.size() / p.features == 4);
  CHECK(p.head_features == 32);
  CHECK(p.score_ciphertexts() == 4);
}

TEST_CASE("wide models spread over ciphertexts of whole heads, small ones share a ciphertext among prompts") {
  const Packing wide = make_packing(shape(4096, 32, 11008), 128, 1 << 15);
  CHECK(wide.features == 256);
  CHECK(wide.state_ciphertexts() == 8);
  CHECK(wide.head_ciphertexts() == 8);
  CHECK(wide.ffn.size() / wide.features == 22);
  const Packing small = make_packing(shape(64, 2, 128), 60, 1 << 15);
  CHECK(small.tokens == 64);
  CHECK(small.features == 32);
  CHECK(small.prompts == 16);
  CHECK(small.ffn.size() / small.features == 2);
}

TEST_CASE("half a ciphertext that is left is one of real features") {
  const Packing p = make_packing(shape(768, 12, 3072), 128, 1 << 15);
  CHECK(p.state_ciphertexts() == 2);
  CHECK(p.state.reals == 256);
  CHECK_FALSE(p.is_real_state(0));
  CHECK(p.is_real_state(1));
  const FeatureLayout some = state_layout(19, 8);
  CHECK(some.reals == 8);
  CHECK(some.re == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, -1, -1, -1, -1, -1});
  CHECK(some.im == std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1});
  CHECK(state_layout(24, 8).reals == 8);
  for (const int width : {3, 8, 16, 25, 32}) {
    CHECK(state_layout(width, 8).reals == 0);
    CHECK(state_layout(width, 8).re == halves(width, 8).re);
  }
}

TEST_CASE(
    "a head of queries stands in the place of the keys that it reads, in a ciphertext that shares theirs") {
  const auto check = [](int heads, int kv, int tokens, int of_queries, int of_keys) {
    CAPTURE(heads);
    CAPTURE(kv);
    ModelConfig config = shape(8 * heads, heads, 8);
    config.kv_heads = kv;
    const Packing p = make_packing(config, tokens, 1024);
    CHECK(p.head_ciphertexts() == of_queries);
    CHECK(p.key_ciphertexts() == of_keys);
    std::set<int> seen;
    for (int f = 0; f < p.heads.size(); ++f) {
      const int query = p.heads.re[f];
      if (query < 0) continue;
      CHECK(seen.insert(query).second);
      const int of_key = f / p.features / p.sharing() * p.features + f % p.features;
      CHECK(p.keys.re[of_key] == query / 8 * kv / heads * 8 + query % 8);
      CHECK(p.keys.im[of_key] - p.keys.re[of_key] == p.heads.im[f] - query);
    }
    CHECK(static_cast<int>(seen.size()) == heads * 4);
  };
  check(8, 8, 16, 1, 1);
  check(8, 4, 16, 1, 1);   // both queries of each in one ciphertext
  check(16, 4, 64, 4, 1);  // 4 places: one of the four queries of each in a ciphertext
  check(32, 8, 64, 8, 2);  // the same, twice
  check(16, 2, 64, 4, 1);  // 2 heads of keys twice in a ciphertext
  check(14, 2, 64, 4, 1);  // 7 queries of each, two at a time
  check(9, 3, 64, 3, 1);   // one place stays empty
  check(12, 6, 64, 4, 2);  // two places of the second stay empty
  check(6, 3, 16, 1, 1);
}

TEST_CASE(
    "unpacking undoes packing; short prompts continue with their own tokens, and all with their period") {
  ModelConfig config = shape(12, 2, 8), both_ways = config;
  both_ways.causal = false, both_ways.positions = PositionKind::kLearned;
  for (const Packing& p : {make_packing(config, 8, 128), make_packing(both_ways, 8, 512, 2)}) {
    REQUIRE(p.prompts == 2);
    std::vector<double> whole, part;
    for (int i = 0; i < 8 * 12; ++i) whole.push_back(0.5 + i);
    for (int i = 0; i < 3 * 12; ++i) part.push_back(-1.0 - i);
    const std::vector<double> states[] = {whole, part};
    const auto packed = pack_states(p, 12, states);
    const auto back = unpack_states(p, 12, packed, 2);
    CHECK(back[0] == whole);
    for (size_t i = 0; i < back[1].size(); ++i) CHECK(back[1][i] == part[i % part.size()]);
    for (size_t s = 0; s < p.slots; ++s) CHECK(packed[0][s] == packed[0][s % p.period()]);
    const std::vector<double> alone[] = {part};
    const auto filled = unpack_states(p, 12, pack_states(p, 12, alone), 2);
    CHECK(filled[0] == filled[1]);
  }
}

TEST_CASE("an architecture without an encrypted form is refused with what differs") {
  ModelConfig config = shape(16, 4, 8);
  config.causal = false, config.rotary_fraction = 1;
  CHECK_REFUSED(make_packing(config, 8, 128), "no encrypted form: causal is false where positions is rotary");
}

TEST_CASE("what does not fit is refused") {
  CHECK_THROWS_AS(make_packing(shape(512, 2, 512), 128, 1 << 10), Error);
  const Packing p = make_packing(shape(12, 2, 8), 8, 128);
  const std::vector<double> longer(9 * 12, 0.0), good(12, 0.0);
  const std::vector<double> too_long[] = {longer}, too_many[] = {good, good, good};
  CHECK_THROWS_AS(pack_states(p, 12, too_long), Error);
  CHECK_THROWS_AS(pack_states(p, 12, too_many), Error);
  CHECK_THROWS_AS(pack_states(p, 12, {}), Error);
}

TEST_CASE("a packing for fewer prompts than places holds a power of two of them, and has their period") {
  const ModelConfig config = shape(64, 2, 128);
  const Packing all = make_packing(config, 16, 4096), two = make_packing(config, 16, 4096, 2);
  REQUIRE(all.prompts == 8);
  CHECK(all.period() == 4096);
  CHECK(two.prompts == 2);
  CHECK(two.period() == 1024);
  CHECK(make_packing(config, 16, 4096, 3).prompts == 4);
  CHECK(make_packing(config, 16, 4096, 100).prompts == 8);
}

}  // namespace
}  // namespace psm::attention
