#include "train/data/labelled_text_data.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "nn/text/sentences.h"

namespace psm::train {

namespace {

// The part of a tokenizer's vocabulary that enough texts have.
std::shared_ptr<const nn::Tokenizer> reduced(const nn::Tokenizer& base,
                                             const std::vector<LabelledText>& texts, int least_texts,
                                             const std::string& origin) {
  std::vector<int> texts_with(static_cast<size_t>(base.vocab()));
  nn::KeptTokens kept;
  for (const LabelledText& text : texts) {
    std::set<int> tokens;
    for (const std::string_view part : fields_of(text.text))
      for (const int token : base.encode(message(" ", part))) tokens.insert(token);
    for (const int token : tokens) ++texts_with[token];
  }
  for (size_t token = 0; token < texts_with.size(); ++token)
    if (texts_with[token] >= least_texts) kept.ids.push_back(static_cast<int>(token));
  nn::BpeSpec spec = base.spec();
  spec.kept = std::move(kept);
  return std::make_shared<const nn::Tokenizer>(std::move(spec), origin);
}

}  // namespace

LabelledTextData::LabelledTextData(const std::vector<LabelledText>& training,
                                   const std::vector<LabelledText>& held_out,
                                   std::shared_ptr<const nn::Tokenizer> base, int context,
                                   const std::string& origin, int least_texts)
    : context_(context) {
  PSM_CHECK(least_texts >= 1, least_texts);
  if (context < 3)
    throw Error(message("a context of ", context, " tokens has no room for a text; give at least 3"));
  for (const std::vector<LabelledText>* texts : {&training, &held_out})
    for (const LabelledText& text : *texts) {
      if (text.label < 0)
        throw Error(message(origin, ": label ", text.label, " is none; labels begin with 0"));
      classes_ = std::max(classes_, text.label + 1);
    }
  if (training.empty() || held_out.empty() || classes_ < 2)
    throw Error(message(origin, ": ", training.size(), " texts to train on and ", held_out.size(),
                        " held out, of ", classes_, " classes; give some of each, and two classes"));
  tokenizer_ = base->encloses_texts() ? std::move(base) : reduced(*base, training, least_texts, origin);
  uint64_t checksum = 0;
  const auto encode = [&](const std::vector<LabelledText>& texts, std::vector<Text>& out) {
    for (const LabelledText& text : texts) {
      out.push_back({nn::sentence_tokens(*tokenizer_, text.text, static_cast<size_t>(context_)), text.label});
      const std::vector<int>& tokens = out.back().tokens;
      const uint64_t pair[] = {checksum, checksum64(tokens.data(), tokens.size() * sizeof(int)) +
                                             static_cast<uint64_t>(text.label)};
      checksum = checksum64(pair, sizeof pair);
    }
  };
  encode(training, training_);
  encode(held_out, held_out_);
  description_ = message(origin, ", ", training_.size(), " texts and ", held_out_.size(), " held out, ",
                         vocab(), " tokens, context ", context_, ", checksum ", checksum);
}

Batch LabelledTextData::batch_of(const std::vector<const Text*>& texts) const {
  size_t longest = 0;
  for (const Text* text : texts) longest = std::max(longest, text->tokens.size());
  Batch batch;
  batch.sequences = static_cast<int>(texts.size()), batch.length = static_cast<int>(longest);
  batch.tokens.assign(texts.size() * longest, *tokenizer_->end());
  for (size_t s = 0; s < texts.size(); ++s) {
    const std::vector<int>& tokens = texts[s]->tokens;
    std::ranges::copy(tokens, batch.tokens.begin() + static_cast<std::ptrdiff_t>(s * longest));
    batch.lengths.push_back(static_cast<int>(tokens.size()));
    batch.targets.push_back(texts[s]->label);
  }
  return batch;
}

Batch LabelledTextData::draw(int sequences, TrainingRandom& random) const {
  std::vector<const Text*> texts;
  for (int s = 0; s < sequences; ++s) texts.push_back(&training_[random.integer(training_.size())]);
  return batch_of(texts);
}

Batch LabelledTextData::validation(int sequences) const {
  std::vector<const Text*> texts;
  for (const Text& text : std::span(held_out_).first(std::min<size_t>(held_out_.size(), sequences)))
    texts.push_back(&text);
  return batch_of(texts);
}

}  // namespace psm::train
