#include "attention/files/llama2c.h"

#include <cstring>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"

namespace psm::attention {
namespace {

ModelWeights tiny(bool tied) {
  ModelConfig config = preset("llama");
  config.vocab = 5, config.context = 3, config.layers = 2, config.width = 16, config.heads = 4,
  config.kv_heads = 2;
  config.ffn = 6, config.attention = AttentionKind::kSoftmax;
  ModelWeights weights = random_weights(config, 3);
  if (tied) weights.unembedding = weights.embedding;
  return weights;
}

// Row 2i + b of a head there is row i + b * head_dim / 2 here; heads have 4 dimensions.
std::vector<float> neighbours(const std::vector<float>& rows) {
  constexpr int kOrder[] = {0, 2, 1, 3}, kColumns = 16;
  std::vector<float> result;
  for (size_t head = 0; head < rows.size() / (4 * kColumns); ++head)
    for (int row : kOrder) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(head * 4 + row) * kColumns;
      result.insert(result.end(), begin, begin + kColumns);
    }
  return result;
}

std::string file_of(const ModelWeights& weights, bool tied, bool tables) {
  const ModelConfig& c = weights.config;
  const int32_t header[] = {c.width,  c.ffn, c.layers, c.heads, c.key_heads(), tied ? c.vocab : -c.vocab,
                            c.context};
  std::string bytes(reinterpret_cast<const char*>(header), sizeof header);
  const auto add = [&](const std::vector<float>& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  add(weights.embedding);
  using L = LayerWeights;
  for (const auto field :
       {&L::norm1_gamma, &L::wq, &L::wk, &L::wv, &L::wo, &L::norm2_gamma, &L::w_gate, &L::w_down, &L::w_up})
    for (const L& layer : weights.layers)
      add(field == &L::wq || field == &L::wk ? neighbours(layer.*field) : layer.*field);
  add(weights.final_gamma);
  if (tables) add(std::vector<float>(static_cast<size_t>(c.context * c.head_dim()), 7.0f));
  if (!tied) add(weights.unembedding);
  return bytes;
}

ModelWeights read(const std::string& bytes) { return read_llama2c(ByteSource("model.bin", bytes)); }

TEST_CASE("a model is read with and without the tables, tied and untied") {
  for (bool tied : {true, false})
    for (bool tables : {true, false}) {
      const ModelWeights expected = tiny(tied);
      CHECK(read(file_of(expected, tied, tables)) == expected);
    }
}

TEST_CASE("a file that is longer or shorter than its header says is refused") {
  const std::string good = file_of(tiny(true), true, true);
  for (size_t length = 0; length < good.size(); length += 97)
    CHECK_THROWS_AS(read(good.substr(0, length)), Error);
  CHECK_REFUSED(read(good + "x"), "bytes of values");
}

TEST_CASE("a header that lies is refused before memory is taken") {
  const std::string good = file_of(tiny(true), true, true);
  const auto refused = [&](size_t field, int32_t value, const char* why) {
    std::string bad = good;
    std::memcpy(bad.data() + 4 * field, &value, 4);
    CHECK_REFUSED(read(bad), why);
  };
  refused(0, 0, "dim = 0");
  refused(0, 1 << 30, "dim = 1073741824");
  refused(0, 18, "model.bin: model configuration: width 18 is not a multiple of heads");
  refused(0, 24, "its header asks for");
  refused(0, 12, "have no pairs");
  refused(1, -1, "hidden_dim = -1");
  refused(2, 1 << 20, "its header asks for");
  refused(4, 3, "kv_heads 3 does not divide heads 4");
  refused(5, INT32_MIN, "vocab_size");
  refused(5, 0, "vocab_size = 0");
  refused(6, 1 << 20, "its header asks for");
  refused(0, 0x616b3432, "dim = ");  // the magic number of later versions
}

TEST_CASE("a value that is not finite is refused with its file and parameter") {
  ModelWeights weights = tiny(true);
  weights.layers[1].w_up[0] = std::nanf("");
  CHECK_REFUSED(read(file_of(weights, true, true)),
                "model.bin: parameter layers.1.w_up holds a value that is not finite");
}

TEST_CASE("whatever the header says, what is read is no larger than the file") {
  FuzzTarget target{.name = "llama2.c model", .fixed_bytes = 16384, .bytes_per_byte = 4};
  target.corpus = {file_of(tiny(true), true, true), file_of(tiny(false), false, false)};
  target.marks = [](const std::string&) { return std::vector<size_t>{0, 4, 8, 12, 16, 20, 24, 28}; };
  target.decode = [](std::string_view bytes) { read_llama2c(ByteSource("input", bytes)).validate(); };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::attention
