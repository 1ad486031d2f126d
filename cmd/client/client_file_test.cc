#include "cmd/client/client_file.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

constexpr const char* kWeight = "weight: a";
constexpr size_t kTablesAt = 32, kSizeAt = 16, kChecksumAt = 24;

ClientFile client_of(const attention::ClientShape& shape, const attention::Places& places) {
  ClientFile file;
  for (size_t i = 0; i < file.program.size(); ++i) file.program[i] = static_cast<uint8_t>(200 + i);
  file.spec = ckks::insecure_leveled(6, 4);
  const ckks::Context context(file.spec);
  file.keys.need_relinearisation(3);
  file.keys.need_galois(ckks::galois_element(context.chain(), 2), 3);
  file.keys.need_galois(ckks::galois_element(context.chain(), 2), 1);
  file.keys.need_galois(ckks::galois_element(context.chain(), 0, true), 4);
  file.entries = {{kPass, {{"x", 4}, {"h", 3}}, {{"x", 0}}}, {"half", {{"x", 2}}, {{"logits", 1}}}};
  file.prompts = std::string("\1\0\xff\n", 4);
  file.logit_error = 0.25;
  file.model.shape = shape;
  for (int token = 0; token < (shape.classes > 0 ? 0 : shape.vocab); ++token) {
    file.answers.symbols.push_back("t" + std::to_string(token));
    file.answers.short_symbols.push_back(token % 2 == 0);
  }
  file.model.packing = places;
  file.model.packing.slots = static_cast<size_t>(context.slots());
  file.model.packing.state = attention::state_layout(shape.width, places.features);
  file.model.packing.classes = attention::halves(shape.classes, places.features);
  TrainingRandom random(1);
  for (int f = 0; f < shape.width; ++f) file.model.residual_scale.push_back(random.uniform(1, 2));
  attention::ClientModel::for_each_list(
      file.model, [&](const char*, std::vector<float>& values, size_t wanted, attention::ModelEnd) {
        for (size_t i = 0; i < wanted; ++i) values.push_back(static_cast<float>(random.uniform(-1, 1)));
      });
  return file;
}

ClientFile neox() {
  ClientFile file = client_of({.vocab = 11, .context = 4, .width = 8, .norm_epsilon = 1e-5, .power = 4},
                              {.tokens = 4, .features = 4, .prompts = 2});
  file.weights = {{kWeight, {{1, 2}, {3, -4}}}};
  return file;
}

ClientFile roberta() {
  return client_of({.vocab = 7,
                    .context = 4,
                    .width = 4,
                    .classes = 3,
                    .norm_epsilon = 1e-5,
                    .learned_positions = true,
                    .final_norm = false,
                    .sends_state = false,
                    .power = 4,
                    .separator = 3},
                   {.tokens = 4, .features = 2, .prompts = 2, .causal = false});
}

ClientFile vit() {
  return client_of({.context = 3,
                    .width = 4,
                    .classes = 2,
                    .patch_inputs = 5,
                    .norm_epsilon = 1e-6,
                    .learned_positions = true,
                    .power = 4},
                   {.tokens = 4, .features = 2, .prompts = 2, .causal = false, .length = 3});
}

std::string bytes_of(ClientFile file) {
  write_client_file(path_of("one.client"), file);
  return read_file(path_of("one.client"), 1 << 21);
}

// The checksum of its tables made right.
void seal(std::string& bytes) {
  uint64_t size = 0;
  if (bytes.size() < kTablesAt) return;
  std::memcpy(&size, bytes.data() + kSizeAt, sizeof size);
  if (size > bytes.size() - kTablesAt) return;
  const uint64_t checksum = checksum64(bytes.data() + kTablesAt, size);
  std::memcpy(bytes.data() + kChecksumAt, &checksum, sizeof checksum);
}

ClientFile read_bytes(std::string_view bytes) { return read_client_file(in_file(bytes, "input.client")); }

void check_refused(const std::string& why, const std::function<void(ClientFile&)>& change,
                   ClientFile file = neox()) {
  change(file);
  CHECK_REFUSED(read_bytes(bytes_of(file)), why);
}

using Lists = std::vector<std::vector<float>>;
Lists lists_of(const attention::ClientModel& model, std::optional<attention::ModelEnd> only = {}) {
  Lists lists;
  attention::ClientModel::for_each_list(
      model, [&](const char*, const std::vector<float>& values, size_t, attention::ModelEnd end) {
        lists.push_back(!only || *only == end ? values : std::vector<float>());
      });
  return lists;
}

TEST_CASE("what is written is read: a language model, a classifier of texts, one of images") {
  for (const ClientFile& file : {neox(), roberta(), vit()}) {
    const ClientFile read = read_bytes(bytes_of(file));
    CHECK(read.program == file.program);
    CHECK(read.program_id() == 0xcfcecdcccbcac9c8);
    CHECK(read.context->fingerprint() == ckks::Context(file.spec).fingerprint());
    CHECK(read.spec.name == file.spec.name);
    CHECK((read.keys == file.keys));
    REQUIRE(read.entries.size() == file.entries.size());
    for (const ClientEntry& entry : file.entries) {
      const PlanEnds ends = read.ends(entry.name);
      CHECK(ends.program_id == file.program_id());
      CHECK(ends.inputs == entry.inputs);
      CHECK(ends.outputs == entry.outputs);
    }
    CHECK_REFUSED(read.ends("generate"), "no entry point 'generate'");
    CHECK(read.prompts == file.prompts);
    CHECK(read.answers.symbols == file.answers.symbols);
    CHECK(read.answers.list(std::vector<int>{1, 2}) == file.answers.list(std::vector<int>{1, 2}));
    CHECK(read_client_head(path_of("one.client")).ends(kPass).program_id == file.program_id());
    CHECK(read.logit_error == file.logit_error);
    CHECK(read.model.shape == file.model.shape);
    CHECK((read.model.packing == file.model.packing));
    CHECK(read.model.residual_scale == file.model.residual_scale);
    CHECK(lists_of(read.model) == lists_of(file.model));
    for (const auto end : {attention::ModelEnd::kInputs, attention::ModelEnd::kOutputs})
      CHECK(lists_of(read_client_file(path_of("one.client"), end).model) == lists_of(file.model, end));
    CHECK(read.weights == file.weights);
    CHECK(bytes_of(read) == bytes_of(file));
  }
  CHECK(roberta().model.packing.has_length_mask());
  CHECK(vit().model.packing.length == 3);
}

TEST_CASE("a file that was cut, damaged or never was a client's is refused in one line") {
  const std::string bytes = bytes_of(neox());
  CHECK_REFUSED(read_bytes(""), "no client file");
  CHECK_REFUSED(read_bytes("PSMPROG\n" + bytes.substr(8)), "take the NAME.client");
  CHECK_REFUSED(read_bytes(bytes.substr(0, 20)), "no client file");
  for (const size_t size : {kTablesAt + 20, bytes.size() / 2, bytes.size() - 1})
    CHECK_REFUSED(read_bytes(bytes.substr(0, size)), "was cut");
  for (const size_t at : {size_t{12}, kChecksumAt, kTablesAt + 1}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    CHECK_REFUSED(read_bytes(flipped), "damaged or was cut");
  }
  // Where numbers are, the list is named, and whoever does not take it is not held up.
  std::string flipped = bytes;
  const float first = neox().model.embedding[0];
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&first), sizeof first));
  REQUIRE(at % 64 == 0);
  flipped[at] = static_cast<char>(flipped[at] ^ 1);
  CHECK_REFUSED(read_bytes(flipped), "its embedding is damaged");
  CHECK_NOTHROW(read_client_file(path_of("input.client"), attention::ModelEnd::kOutputs));
  CHECK_NOTHROW(read_client_head(path_of("input.client")));
  std::string other = bytes;
  other[8] = 9;
  CHECK_REFUSED(read_bytes(other), "it has version 9, this is version 10");
  CHECK_REFUSED(read_bytes(bytes + std::string(4, '\0')), "more in it than it says");
}

TEST_CASE("a file that lies is refused: what it asks for") {
  check_refused("level 5 of 4", [](ClientFile& f) { f.keys.relinearisation_levels.insert(5); });
  check_refused("level -1 of 4", [](ClientFile& f) { f.keys.galois_levels[5].insert(-1); });
  check_refused("level 5 of 4", [](ClientFile& f) { f.entries[1].outputs[0].level = 5; });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_galois(6, 1); });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_galois(129, 1); });
  check_refused("level 5 of 4", [](ClientFile& f) { f.keys.need_raised(5, 5); });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_raised(0, 1); });
  check_refused("no automorphism", [](ClientFile& f) { f.keys.need_raised(129, 1); });
  check_refused("a key at no level", [](ClientFile& f) { f.keys.raised_levels[5]; });
  check_refused("a bootstrap's keys", [](ClientFile& f) { f.keys.need_raised(1, 4); });
  check_refused("it asks for 4097 keys", [](ClientFile& f) {
    f.spec = ckks::insecure_leveled(13, 4);
    f.keys = {};
    for (ckks::GaloisElement g = 3; f.keys.galois_levels.size() < 4097; g += 2) f.keys.need_galois(g, 1);
  });
  check_refused("takes or makes 0 ciphertexts", [](ClientFile& f) { f.entries[0].inputs.clear(); });
  check_refused("takes or makes 4097 ciphertexts", [](ClientFile& f) { f.entries[0].outputs.resize(4097); });
  check_refused("1064960 bytes of names",
                [](ClientFile& f) { f.entries[0].inputs.assign(4096, {.name = std::string(256, 'x')}); });

  // A list longer than the file, and a name that would not fit a line of a terminal.
  std::string bytes = bytes_of(neox());
  const size_t name = bytes.find(neox().spec.name);
  std::string many = bytes;
  for (size_t i = 0; i < 4; ++i) many[name - 4 + i] = static_cast<char>(0xff);
  seal(many);
  CHECK_REFUSED(read_bytes(many), "its tables end early");
  bytes[name] = '\x1b';
  seal(bytes);
  CHECK_REFUSED(read_bytes(bytes), "no short line of plain text");
}

TEST_CASE("a file that lies is refused: its parameters") {
  check_refused("its parameters are refused", [](ClientFile& f) { f.spec.insecure = false; });
  check_refused("a name of 65 bytes", [](ClientFile& f) { f.spec.name = std::string(65, 'a'); });
  check_refused("no cited estimate covers N = 2^13", [](ClientFile& f) {
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
  check_refused("not those of its model", [](ClientFile& f) { f.answers.symbols.pop_back(); });
  check_refused("control characters", [](ClientFile& f) { f.answers.symbols[1] = "\x1b[2J"; });
  for (const double scale : {0.0, -1.0, static_cast<double>(nan), HUGE_VAL})
    check_refused("not positive", [&](ClientFile& f) { f.model.residual_scale[1] = scale; });
  for (const double error : {-1.0, static_cast<double>(nan), HUGE_VAL})
    check_refused("is no size", [&](ClientFile& f) { f.logit_error = error; });
  for (const double overflow : {-1.0, static_cast<double>(nan), HUGE_VAL})
    check_refused("probability of an overflow", [&](ClientFile& f) { f.entries[1].overflow = overflow; });
  check_refused("no final norm", [](ClientFile& f) { f.model.shape.final_norm = false; });
  check_refused("divides by no number", [&](ClientFile& f) { f.model.shape.norm_epsilon = -1; });
  check_refused("neither tokens nor patches", [&](ClientFile& f) { f.model.shape.patch_inputs = 3; });
  for (auto* file : {neox, vit})
    check_refused(
        "its separator is no token", [](ClientFile& f) { f.model.shape.separator = 11; }, file());
  check_refused("weight: a is not finite", [&](ClientFile& f) { f.weights[0].period[1] = {0, HUGE_VAL}; });
  for (const size_t period : {3, 64})
    check_refused("no period of slots", [&](ClientFile& f) { f.weights[0].period.resize(period); });
}

TEST_CASE("a file that lies is refused: its places") {
  const auto refused = [](const std::string& why, const std::function<void(attention::Places&)>& change) {
    check_refused(why, [&](ClientFile& f) { change(f.model.packing); });
  };
  for (int attention::Places::*size :
       {&attention::Places::tokens, &attention::Places::features, &attention::Places::prompts}) {
    for (const int wrong : {0, -4, 1 << 30, std::numeric_limits<int>::max()})
      refused("are possible", [&](attention::Places& p) { p.*size = wrong; });
    refused("no power of two", [&](attention::Places& p) { p.*size = 3; });
    refused("do not fit", [&](attention::Places& p) { p.*size = 1 << 20; });
  }
  refused("longer than its places", [](attention::Places& p) { p.tokens = 2; });
  refused("longer than its places", [](attention::Places& p) { p.length = 5; });
  // Eight features in four ciphertexts, where the entry points take one or two.
  refused("takes less than the model's 4", [](attention::Places& p) { p.features = 1; });
}

TEST_CASE("a few bytes that speak of much take little memory") {
  const auto peak = [](const std::function<void(ClientFile&)>& change, ClientFile file) {
    change(file);
    const std::string bytes = bytes_of(file);
    const AllocationMeter meter;
    CHECK_THROWS_AS(read_bytes(bytes), Error);
    return meter.peak_bytes();
  };
  constexpr size_t kMost = size_t{1} << 20;
  constexpr int kHuge = 1 << 20;
  CHECK(peak([](ClientFile& f) { f.model.shape.vocab = kHuge; }, neox()) < kMost);
  CHECK(peak([](ClientFile& f) { f.model.shape.width = kHuge; }, neox()) < kMost);
  CHECK(peak([](ClientFile& f) { f.model.shape.context = kHuge; }, roberta()) < kMost);
  CHECK(peak([](ClientFile& f) { f.model.shape.patch_inputs = kHuge; }, vit()) < kMost);
  check_refused(
      "images are too large",
      [](ClientFile& f) { f.model.shape.context = f.model.shape.patch_inputs = kHuge; }, vit());
  // Tables that would be longer than the file.
  std::string bytes = bytes_of(neox());
  const uint64_t size = uint64_t{1} << 62;
  std::memcpy(bytes.data() + kSizeAt, &size, sizeof size);
  CHECK_REFUSED(read_bytes(bytes), "it was cut");
}

TEST_CASE("whatever stands in it, it is refused or read") {
  // Tables of the largest ring.
  FuzzTarget target{.name = "client file", .fixed_bytes = size_t{300} << 20, .bytes_per_byte = 64};
  target.corpus = {bytes_of(neox()), bytes_of(roberta()), bytes_of(vit())};
  target.repair = [](std::string& bytes, TrainingRandom&) { seal(bytes); };
  target.marks = [](const std::string& bytes) {
    std::vector<size_t> marks;  // all but the lists of floats
    for (size_t at = 0; at < std::min<size_t>(bytes.size(), 1000); ++at) marks.push_back(at);
    return marks;
  };
  target.decode = [](std::string_view bytes) {
    const ClientFile read = read_bytes(bytes);
    for (const ClientEntry& entry : read.entries) read.ends(entry.name);
    for (const ClientWeight& weight : read.weights) weight.slots(static_cast<size_t>(read.context->slots()));
    read_client_head(in_file(bytes));
    read.keys.count(read.context->chain()), read.keys.bytes(read.context->chain());
    PSM_CHECK(bytes_of(read) == bytes_of(read_bytes(bytes_of(read))));
  };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::cmd
