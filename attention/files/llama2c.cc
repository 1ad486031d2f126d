#include "attention/files/llama2c.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "ckks/base/error.h"

namespace psm::attention {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

struct Header {
  int32_t dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len;
};
static_assert(sizeof(Header) == 28);

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(message(path, " is not a model of llama2.c (version 0, fp32): ", why,
                      "; give a file that its export.py wrote"));
}

ModelConfig config_of(const Header& header, const std::string& path) {
  const auto size = [&](int32_t value, const char* name) {
    if (value < 1 || value > kMostSize) refuse(path, message("its header says ", name, " = ", value));
    return static_cast<int>(value);
  };
  ModelConfig config = preset("llama");
  config.attention = AttentionKind::kSoftmax;
  config.width = size(header.dim, "dim");
  config.ffn = size(header.hidden_dim, "hidden_dim");
  config.layers = size(header.n_layers, "n_layers");
  config.heads = size(header.n_heads, "n_heads");
  config.kv_heads = size(header.n_kv_heads, "n_kv_heads");
  if (header.vocab_size < -kMostSize)
    refuse(path, message("its header says vocab_size = ", header.vocab_size));
  config.vocab = size(std::abs(header.vocab_size), "vocab_size");
  config.context = size(header.seq_len, "seq_len");
  prefixed(path, [&] { config.validate(); });
  if (config.head_dim() % 2 != 0)
    refuse(path, message("heads of ", config.head_dim(), " dimensions have no pairs"));
  return config;
}

// What stands before the tables. Sizes are at most 2^20, so every product here is below 2^43.
uint64_t values_before_tables(const ModelConfig& config, const std::string& path) {
  const uint64_t d = config.width, ffn = config.ffn, kv = config.key_width();
  const uint64_t layer = 2 * d + 2 * d * d + 2 * kv * d + 3 * ffn * d;
  if (layer > kMaxBytes / sizeof(float) / static_cast<uint64_t>(config.layers))
    refuse(path, "its header asks for more than 64 GiB");
  return static_cast<uint64_t>(config.vocab) * d + static_cast<uint64_t>(config.layers) * layer + d;
}

// Rows of each head from pairs of neighbours to pairs of halves.
std::vector<float> reordered(const std::vector<float>& rows, int heads, int dims) {
  const size_t half = static_cast<size_t>(dims) / 2, columns = rows.size() / (heads * 2 * half);
  std::vector<float> result(rows.size());
  for (size_t head = 0; head < static_cast<size_t>(heads); ++head)
    for (size_t i = 0; i < 2 * half; ++i)
      std::copy_n(rows.begin() + (head * 2 * half + i) * columns, columns,
                  result.begin() + (head * 2 * half + i / 2 + i % 2 * half) * columns);
  return result;
}

}  // namespace

ModelWeights read_llama2c(ByteSource source) {
  const std::string path = source.name();
  Header header;
  if (!source.read(&header, sizeof header)) refuse(path, message("it has only ", source.size(), " bytes"));
  const ModelConfig config = config_of(header, path);
  const bool tied = header.vocab_size > 0;
  const uint64_t own = tied ? 0 : static_cast<uint64_t>(config.vocab) * static_cast<uint64_t>(config.width);
  const uint64_t bytes = (values_before_tables(config, path) + own) * sizeof(float);
  const uint64_t tables =
      sizeof(float) * static_cast<uint64_t>(config.context) * config.head_dim();  // RoPE's
  if (source.left() != bytes && source.left() != bytes + tables)
    refuse(path, message("its header asks for ", bytes + tables, " bytes of values (", bytes,
                         " without tables of RoPE) and it has ", source.left()));
  const bool has_tables = source.left() != bytes;

  ModelWeights weights;
  weights.resize(config);
  const auto read = [&](std::vector<float>& values) {
    if (!source.read(values.data(), values.size() * sizeof(float)))
      refuse(path, "it was cut while it was read");
  };
  read(weights.embedding);
  for (const auto field : {&LayerWeights::norm1_gamma, &LayerWeights::wq, &LayerWeights::wk,
                           &LayerWeights::wv, &LayerWeights::wo, &LayerWeights::norm2_gamma,
                           &LayerWeights::w_gate, &LayerWeights::w_down, &LayerWeights::w_up})
    for (LayerWeights& layer : weights.layers) read(layer.*field);
  read(weights.final_gamma);
  if (tied) {
    weights.unembedding = weights.embedding;
  } else {
    if (has_tables) source.seek(source.position() + tables);
    read(weights.unembedding);
  }
  for (LayerWeights& layer : weights.layers) {
    layer.wq = reordered(layer.wq, config.heads, config.head_dim());
    layer.wk = reordered(layer.wk, config.key_heads(), config.head_dim());
  }
  weights.validate(path);
  return weights;
}

}  // namespace psm::attention
