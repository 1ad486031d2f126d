#include "cmd/client/client_file.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/sha256.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/check_fuzz.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

constexpr size_t kTablesAt = 12;

ClientFile client_of(const attention::ModelConfig& config, int tokens, bool sends_normalised) {
  ClientFile file;
  for (size_t i = 0; i < file.program.size(); ++i) file.program[i] = static_cast<uint8_t>(200 + i);
  file.spec = ckks::insecure_leveled(6, 4);
  const ckks::Context context(file.spec);
  file.keys.need_relinearisation(3);
  file.keys.need_galois(ckks::galois_element(context.chain(), 2), 3);
  file.keys.need_galois(ckks::galois_element(context.chain(), 2), 1);
  file.keys.need_galois(ckks::galois_element(context.chain(), 0, true), 4);
  file.entries = {{kPass, {{"x", 4}, {"h", 3}}, {{"x", 0}}}, {"half", {{"x", 2}}, {{"logits", 1}}}};
  file.notes = {{"recall", "{\"keys\":4}"}, {"tokenizer", std::string("\0\xff\n", 3)}};
  file.logit_error = 0.25;
  file.model.config = config;
  for (int token = 0; token < (config.classes > 0 ? 0 : config.vocab); ++token) {
    file.answers.symbols.push_back("t" + std::to_string(token));
    file.answers.short_symbols.push_back(token % 2 == 0);
  }
  file.model.packing = attention::make_packing(config, tokens, static_cast<size_t>(context.slots()), 2);
  file.model.sends_normalised = sends_normalised;
  TrainingRandom random(1);
  for (int f = 0; f < config.width; ++f) file.model.residual_scale.push_back(random.uniform(1, 2));
  attention::ClientModel::for_each_list(file.model,
                                        [&](const char*, std::vector<float>& values, size_t wanted) {
                                          for (size_t i = 0; i < wanted; ++i)
                                            values.push_back(static_cast<float>(random.uniform(-1, 1)));
                                        });
  return file;
}

ClientFile neox() {
  return client_of({.vocab = 11, .context = 4, .layers = 1, .width = 8, .heads = 2, .ffn = 16}, 4, false);
}

ClientFile roberta() {
  attention::ModelConfig config = attention::preset("roberta");
  config.vocab = 7, config.context = 4, config.layers = 1, config.width = 4, config.heads = 1;
  config.ffn = 6, config.classes = 3;
  return client_of(config, 3, true);
}

ClientFile vit() {
  attention::ModelConfig config = attention::preset("vit");
  config.context = 3, config.layers = 1, config.width = 4, config.heads = 2, config.ffn = 4;
  config.classes = 2, config.patch_inputs = 5;
  return client_of(config, 3, false);
}

std::string bytes_of(ClientFile file) {
  write_client_file(path_of("one.client"), file);
  return read_file(path_of("one.client"), 1 << 20);
}

// The digest of its tables made right.
void seal(std::string& bytes) {
  Sha256::Digest digest;
  if (bytes.size() < kTablesAt + digest.size()) return;
  const size_t size = bytes.size() - kTablesAt - digest.size();
  digest = sha256(bytes.data() + kTablesAt, size);
  std::copy(digest.begin(), digest.end(), bytes.end() - static_cast<ptrdiff_t>(digest.size()));
}

ClientFile read_bytes(std::string_view bytes) {
  const std::string path = path_of("input.client");
  std::filesystem::remove(path);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  PSM_CHECK(file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  std::fclose(file);
  return read_client_file(path);
}

void check_bytes_refused(const std::string& bytes, const std::string& why) {
  CAPTURE(why);
  CHECK_THROWS_WITH_AS(read_bytes(bytes), doctest::Contains(why.c_str()), Error);
}

void check_refused(const std::string& why, const std::function<void(ClientFile&)>& change,
                   ClientFile file = neox()) {
  change(file);
  check_bytes_refused(bytes_of(file), why);
}

void check_same(const std::vector<PlanEnd>& a, const std::vector<PlanEnd>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].level == b[i].level);
  }
}

void check_same(const attention::FeatureLayout& a, const attention::FeatureLayout& b) {
  CHECK(a.re == b.re);
  CHECK(a.im == b.im);
}

void check_same(const attention::Packing& a, const attention::Packing& b) {
  CHECK(a.slots == b.slots);
  CHECK(a.tokens == b.tokens);
  CHECK(a.features == b.features);
  CHECK(a.prompts == b.prompts);
  CHECK(a.head_features == b.head_features);
  CHECK(a.causal == b.causal);
  CHECK(a.length == b.length);
  check_same(a.state, b.state), check_same(a.heads, b.heads);
  check_same(a.ffn, b.ffn), check_same(a.classes, b.classes);
}

TEST_CASE("what is written is read: a language model, a classifier of texts, one of images") {
  for (const ClientFile& file : {neox(), roberta(), vit()}) {
    const ClientFile read = read_bytes(bytes_of(file));
    CHECK(read.program == file.program);
    CHECK(read.program_id() == 0xcfcecdcccbcac9c8);
    CHECK(read.context->fingerprint() == ckks::Context(file.spec).fingerprint());
    CHECK(read.spec.name == file.spec.name);
    CHECK(read.keys.relinearisation_levels == file.keys.relinearisation_levels);
    CHECK(read.keys.galois_levels == file.keys.galois_levels);
    CHECK(read.keys.encapsulation == file.keys.encapsulation);
    REQUIRE(read.entries.size() == file.entries.size());
    for (const ClientEntry& entry : file.entries) {
      const PlanEnds ends = read.ends(entry.name);
      CHECK(ends.program_id == file.program_id());
      CHECK(ends.parameters == read.context->fingerprint());
      check_same(ends.inputs, entry.inputs), check_same(ends.outputs, entry.outputs);
    }
    CHECK_THROWS_WITH_AS(read.ends("generate"), doctest::Contains("no entry point 'generate'"), Error);
    CHECK(read.notes == file.notes);
    CHECK(read.answers.symbols == file.answers.symbols);
    CHECK(read.answers.list(std::vector<int>{1, 2}) == file.answers.list(std::vector<int>{1, 2}));
    CHECK(read_client_head(path_of("one.client")).ends(kPass).program_id == file.program_id());
    CHECK(read.logit_error == file.logit_error);
    CHECK(read.model.config == file.model.config);
    check_same(read.model.packing, file.model.packing);
    CHECK(read.model.sends_normalised == file.model.sends_normalised);
    CHECK(read.model.residual_scale == file.model.residual_scale);
    std::vector<std::vector<float>> lists;
    attention::ClientModel::for_each_list(
        file.model, [&](const char*, const std::vector<float>& values, size_t) { lists.push_back(values); });
    size_t next = 0;
    attention::ClientModel::for_each_list(read.model,
                                          [&](const char* name, const std::vector<float>& values, size_t) {
                                            CAPTURE(name);
                                            CHECK(values == lists[next++]);
                                          });
    CHECK(bytes_of(read) == bytes_of(file));
  }
  CHECK(roberta().model.packing.has_length_mask());
  CHECK(vit().model.packing.length == 3);
}

TEST_CASE("a file that was cut, damaged or never was a client's is refused in one line") {
  const std::string bytes = bytes_of(neox());
  check_bytes_refused("", "no client file");
  check_bytes_refused("PSMPROG\n" + bytes.substr(8), "take the NAME.client");
  check_bytes_refused(bytes.substr(0, 20), "it was cut");
  for (const size_t size : {bytes.size() - 1, bytes.size() / 2})
    check_bytes_refused(bytes.substr(0, size), "damaged or was cut");
  for (const size_t at : {size_t{13}, bytes.size() / 2, bytes.size() - 1}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    check_bytes_refused(flipped, "damaged or was cut");
  }
  std::string other = bytes;
  other[8] = 4;
  check_bytes_refused(other, "it has version 4, this is version 3");
  std::string longer = bytes;
  longer.insert(bytes.size() - sizeof(Sha256::Digest), 4, '\0');
  seal(longer);
  check_bytes_refused(longer, "more in it than it says");
}

TEST_CASE("a file that lies is refused: what it asks for") {
  check_refused("level 5 of 4", [](ClientFile& f) { f.keys.relinearisation_levels.insert(5); });
  check_refused("level -1 of 4", [](ClientFile& f) { f.keys.galois_levels[5].insert(-1); });
  check_refused("level 5 of 4", [](ClientFile& f) { f.entries[1].outputs[0].level = 5; });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_galois(6, 1); });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_galois(129, 1); });
  check_refused("a bootstrap's keys", [](ClientFile& f) { f.keys.encapsulation = true; });
  check_refused("it asks for 4097 keys", [](ClientFile& f) {
    f.spec = ckks::insecure_leveled(13, 4);
    f.keys = {};
    for (ckks::GaloisElement g = 3; f.keys.galois_levels.size() < 4097; g += 2) f.keys.need_galois(g, 1);
  });
  check_refused("takes or makes 0 ciphertexts", [](ClientFile& f) { f.entries[0].inputs.clear(); });
  check_refused("takes or makes 4097 ciphertexts", [](ClientFile& f) { f.entries[0].outputs.resize(4097); });

  // A list longer than the file, and a name that would not fit a line of a terminal.
  std::string bytes = bytes_of(neox());
  const size_t name = bytes.find(neox().spec.name);
  std::string many = bytes;
  for (size_t i = 0; i < 4; ++i) many[name - 4 + i] = static_cast<char>(0xff);
  seal(many);
  check_bytes_refused(many, "its tables end early");
  bytes[name] = '\x1b';
  seal(bytes);
  check_bytes_refused(bytes, "no short line of plain text");
}

TEST_CASE("a file that lies is refused: its parameters") {
  check_refused("its parameters are refused", [](ClientFile& f) { f.spec.insecure = false; });
  check_refused("128-bit security", [](ClientFile& f) {
    f.spec = ckks::secure_n16();
    f.spec.log_n = 13;
  });
  for (const int log_n : {-1, 0, 3, 18, 31, 64, std::numeric_limits<int>::max()})
    check_refused("its parameters are refused", [&](ClientFile& f) { f.spec.log_n = log_n; });
  check_refused("its parameters are refused",
                [](ClientFile& f) { f.spec.compute_levels = std::numeric_limits<int>::max(); });
}

TEST_CASE("a file that lies is refused: its model") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check_refused("its embedding has 87 numbers of 88", [](ClientFile& f) { f.model.embedding.pop_back(); });
  check_refused("its unembedding has 89", [](ClientFile& f) { f.model.unembedding.push_back(0); });
  check_refused("its class token has 1 numbers of 0", [](ClientFile& f) { f.model.class_token = {1}; });
  check_refused("its final gamma is not finite", [&](ClientFile& f) { f.model.final_gamma[2] = nan; });
  check_refused(
      "its positions is not finite", [](ClientFile& f) { f.model.position_embedding[0] = HUGE_VALF; },
      roberta());
  check_refused("not those of its model", [](ClientFile& f) { f.model.residual_scale.pop_back(); });
  for (const double scale : {0.0, -1.0, static_cast<double>(nan), HUGE_VAL})
    check_refused("not positive", [&](ClientFile& f) { f.model.residual_scale[1] = scale; });
  for (const double error : {-1.0, static_cast<double>(nan), HUGE_VAL})
    check_refused("is no size", [&](ClientFile& f) { f.logit_error = error; });
  for (const int tokens : {0, -4, 1 << 30, std::numeric_limits<int>::max()}) {
    check_refused("no places", [&](ClientFile& f) { f.model.packing.tokens = tokens; });
    check_refused("no places", [&](ClientFile& f) { f.model.packing.prompts = tokens; });
  }
  check_refused("do not fit", [](ClientFile& f) { f.model.packing.tokens = 1 << 20; });
  check_refused("its model is refused", [](ClientFile& f) { f.model.config.heads = 3; });
  check_refused("its model is refused",
                [](ClientFile& f) { f.model.config.attention = attention::AttentionKind::kSoftmax; });
}

TEST_CASE("a few bytes that speak of much take little memory") {
  const auto peak = [](const std::function<void(ClientFile&)>& change, ClientFile file) {
    change(file);
    const std::string bytes = bytes_of(file);
    const AllocationMeter meter;
    CHECK_THROWS_AS(read_bytes(bytes), Error);
    return meter.peak_bytes();
  };
  constexpr size_t kMost = size_t{64} << 20;  // the places of a million features
  constexpr int kHuge = 1 << 20;
  CHECK(peak([](ClientFile& f) { f.model.config.vocab = kHuge; }, neox()) < (size_t{1} << 20));
  CHECK(peak([](ClientFile& f) { f.model.config.width = kHuge; }, neox()) < kMost);
  CHECK(peak([](ClientFile& f) { f.model.config.heads = f.model.config.width = kHuge; }, neox()) < kMost);
  CHECK(peak([](ClientFile& f) { f.model.config.context = kHuge; }, roberta()) < (size_t{1} << 20));
  CHECK(peak([](ClientFile& f) { f.model.config.patch_inputs = kHuge; }, vit()) < (size_t{1} << 20));
  check_refused(
      "images are too large",
      [](ClientFile& f) {
        f.model.config.context = f.model.config.patch_inputs = kHuge;
        f.model.config.positions = attention::PositionKind::kRotary;
        f.model.config.rotary_fraction = 0;
      },
      vit());
}

TEST_CASE("whatever stands in it, it is refused or read") {
  FuzzTarget target;
  target.name = "client file";
  target.corpus = {bytes_of(neox()), bytes_of(roberta()), bytes_of(vit())};
  target.repair = [](std::string& bytes, TrainingRandom&) { seal(bytes); };
  target.marks = [](const std::string& bytes) {
    std::vector<size_t> marks;  // all but most of the lists of floats
    for (size_t at = 0; at < std::min<size_t>(bytes.size(), 1200); ++at) marks.push_back(at);
    return marks;
  };
  target.decode = [](std::string_view bytes) {
    const ClientFile read = read_bytes(bytes);
    for (const ClientEntry& entry : read.entries) read.ends(entry.name);
    read.request_text();
    PSM_CHECK(bytes_of(read) == bytes_of(read_bytes(bytes_of(read))));
  };
  target.fixed_bytes = size_t{300} << 20;  // tables of the largest ring
  target.bytes_per_byte = 64;
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::cmd
