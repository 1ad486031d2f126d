#include "train/data/masked_text_data.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::train {
namespace {

constexpr double kScored = 0.15, kMasked = 0.8, kChanged = 0.1;
constexpr uint64_t kHiddenSeed = 15;  // of what validation hides

int mask_of(const nn::Tokenizer& tokenizer) {
  const std::vector<nn::AddedToken>& added = tokenizer.spec().added;
  const auto mask = std::ranges::find_if(
      added, [](const nn::AddedToken& token) { return token.text == "[MASK]" || token.text == "<mask>"; });
  if (mask == added.end() || !tokenizer.encloses_texts())
    throw Error(
        "masked language modelling needs a tokenizer with [MASK] or <mask>, and with tokens around a text; "
        "give BERT's or RoBERTa's with --tokenizer");
  return mask->id;
}

}  // namespace

MaskedTextData::MaskedTextData(TextData text) : text_(std::move(text)), mask_(mask_of(*text_.tokenizer())) {}

Batch MaskedTextData::draw(int sequences, TrainingRandom& random) const {
  return mask(text_.draw(sequences, random), random);
}

Batch MaskedTextData::validation(int sequences) const {
  TrainingRandom random(kHiddenSeed);
  return mask(text_.validation(sequences), random);
}

Batch MaskedTextData::mask(const Batch& windows, TrainingRandom& random) const {
  const nn::Tokenizer& tokenizer = *text_.tokenizer();
  Batch batch;
  batch.sequences = windows.sequences, batch.length = context();
  const auto append = [&](int token, int target) {
    batch.tokens.push_back(token), batch.targets.push_back(target);
  };
  for (size_t at = 0; at < windows.tokens.size(); ++at) {
    const int place = static_cast<int>(at % static_cast<size_t>(windows.length)), token = windows.tokens[at];
    if (place == 0) append(*tokenizer.start(), -1);
    for (int n = 0; place == windows.length / 2 && n < tokenizer.ends_between(); ++n)
      append(*tokenizer.end(), -1);
    if (random.uniform() >= kScored) {
      append(token, -1);
    } else {
      const double becomes = random.uniform();
      append(becomes < kMasked              ? mask_
             : becomes < kMasked + kChanged ? static_cast<int>(random.integer(static_cast<uint64_t>(vocab())))
                                            : token,
             token);
    }
    if (place + 1 == windows.length) append(*tokenizer.end(), -1);
  }
  return batch;
}

}  // namespace psm::train
