#include "attention/shape/config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/joined.h"

namespace psm::attention {
namespace {

void require(bool good, const std::string& what, const std::string& advice) {
  if (!good) throw Error(message("model configuration: ", what, "; ", advice));
}

bool finite_positive(double x) { return std::isfinite(x) && x > 0; }

constexpr std::string_view kFamilies[] = {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"};

}  // namespace

void ModelConfig::validate() const {
  for (auto [value, name] : std::initializer_list<std::pair<int, const char*>>{
           {context, "context"}, {layers, "layers"}, {width, "width"}, {heads, "heads"}, {ffn, "ffn"}}) {
    require(value >= 1 && value <= kMostSize, message(name, " = ", value, " is not a size"),
            message("give a number from 1 to ", kMostSize));
  }
  const bool patches = patch_inputs != 0;
  require(patches ? vocab == 0 : vocab >= 1 && vocab <= kMostSize,
          message("vocab = ", vocab, " is not a size"),
          patches ? std::string("a model of patches has none: give 0")
                  : message("give a number from 1 to ", kMostSize));
  require(patch_inputs >= 0 && patch_inputs <= kMostSize,
          message("patch_inputs = ", patch_inputs, " is not a size"),
          "give the numbers in a patch, or 0 for tokens");
  require(classes >= 0 && classes != 1 && classes <= kMostSize,
          message("classes = ", classes, " is no number of classes"),
          "give 2 or more, or 0 for a language model");
  require(width % heads == 0, message("width ", width, " is not a multiple of heads ", heads),
          "choose a width that the heads divide");
  require(kv_heads >= 0 && heads % key_heads() == 0,
          message("kv_heads ", kv_heads, " does not divide heads ", heads),
          "choose a number that divides the heads, or 0 for as many");
  require(!patches || classes > 0, "patches without classes", "give the classes: patches have no next token");
  require(!patches || context >= 2,
          message("a context of ", context, " has no room for a patch and the class token"),
          "give 1 more than the patches");
  require(int64_t{context} * patch_inputs <= int64_t{1} << 30,  // they are counted in ints
          message("images of ", context - 1, " patches of ", patch_inputs, " numbers"),
          "at most 2^30 numbers are possible");
  require(classes == 0 || !causal, "a causal classifier would see nothing but its first token",
          "make it bidirectional");
  require(!pooler || classes > 0, "a pooler without classes", "give the classes or leave the pooler out");
  require(!mean_pooling || (block == BlockKind::kPostNorm && classes > 0 && !pooler && !patches),
          "mean_pooling with other blocks than post_norm, a pooler, patches or no classes",
          "give the classes of a BERT without pooler");
  require(separator == 0 || (separator > 0 && separator < vocab && !causal),
          message("separator = ", separator, " is no token of a vocabulary of ", vocab,
                  ", or the model is causal"),
          "give the token between two texts of an encoder, or 0 without token types");
  require(feed_forward != FeedForwardKind::kSwiGlu || !biases, "SwiGLU with biases is not made here",
          "leave the biases out");
  require(std::isfinite(rotary_fraction) && rotary_fraction >= 0 && rotary_fraction <= 1,
          message("rotary_fraction = ", rotary_fraction, " is not a fraction"), "give a number from 0 to 1");
  require(finite_positive(rotary_base), message("rotary_base = ", rotary_base, " is not positive"),
          "10000 is customary");
  require(power >= 2 && power <= 16 && power % 2 == 0,
          message("power = ", power, " is not an even number from 2 to 16"), "the paper uses 4");
  require(std::isfinite(epsilon) && epsilon >= 0,
          message("epsilon = ", epsilon, " is negative or not a number"), "1e-3 is customary");
  require(finite_positive(stable_delta), message("stable_delta = ", stable_delta, " is not positive"),
          "1e-6 is customary");
  require(finite_positive(norm_epsilon), message("norm_epsilon = ", norm_epsilon, " is not positive"),
          "1e-5 is customary");
}

std::string ModelConfig::without_encrypted_form() const {
  if (attention != AttentionKind::kPowerSoftmax) return message("attention is ", name_of(attention));
  if (!causal && rotary_dims() > 0) return "causal is false where positions is rotary";
  if (block == BlockKind::kPostNorm && classes == 0) return "classes is 0 where block is post_norm";
  return {};
}

size_t place_of(std::string_view name, const Names& of) {
  const auto found = std::ranges::find(of.names, name);
  if (found == of.names.end())
    throw Error(message("unknown ", of.what, " \"", name, "\"; use one of: ", joined(of.names)));
  return static_cast<size_t>(found - of.names.begin());
}

ModelConfig preset(std::string_view family) {
  place_of(family, {"family of models", kFamilies});
  ModelConfig config;
  if (family == "gpt-neox") return config;
  const bool bert = family == "bert";
  config.block = bert || family == "roberta" ? BlockKind::kPostNorm : BlockKind::kPreNorm;
  if (family == "llama") {
    config.rotary_fraction = 1, config.biases = false;
    config.norm = NormKind::kRmsNorm, config.feed_forward = FeedForwardKind::kSwiGlu;
    return config;
  }
  config.positions = PositionKind::kLearned;
  if (family == "gpt2") {
    config.feed_forward = FeedForwardKind::kGeluTanh;
    return config;
  }
  config.causal = false;
  config.pooler = config.block == BlockKind::kPostNorm;
  if (family != "roberta") config.norm_epsilon = 1e-12;
  if (bert) config.separator = 102;
  return config;
}

}  // namespace psm::attention
