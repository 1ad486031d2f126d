#include "train/data/labelled_text_data.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"

namespace psm::train {

LabelledTextData::LabelledTextData(const std::vector<LabelledText>& training,
                                   const std::vector<LabelledText>& held_out,
                                   std::shared_ptr<const nn::Tokenizer> base,
                                   const LabelledTextOptions& options, const std::string& origin)
    : context_(options.context) {
  PSM_CHECK(options.context >= 3 && options.least_texts >= 1, options.context, " ", options.least_texts);
  tokenizer_ = std::dynamic_pointer_cast<const nn::SentenceTokenizer>(base);
  const nn::Tokenizer* words = tokenizer_ ? tokenizer_->base().get() : base.get();
  const auto encode = [&](const std::vector<LabelledText>& texts, std::vector<Text>& out) {
    for (const LabelledText& text : texts) {
      if (text.label < 0)
        throw Error(message(origin, ": label ", text.label, " is none; labels begin with 0"));
      classes_ = std::max(classes_, text.label + 1);
      out.push_back({words->encode(" " + text.text), text.label});
    }
  };
  encode(training, training_);
  encode(held_out, held_out_);
  if (training_.empty() || held_out_.empty() || classes_ < 2)
    throw Error(message(origin, ": ", training_.size(), " texts to train on and ", held_out_.size(),
                        " held out, of ", classes_, " classes; give some of each, and two classes"));

  if (!tokenizer_) {
    std::vector<int> texts_with(static_cast<size_t>(base->vocab())), kept;
    for (const Text& text : training_)
      for (const int token : std::set<int>(text.tokens.begin(), text.tokens.end())) ++texts_with[token];
    for (size_t token = 0; token < texts_with.size(); ++token)
      if (texts_with[token] >= options.least_texts) kept.push_back(static_cast<int>(token));
    tokenizer_ = std::make_shared<const nn::SentenceTokenizer>(std::move(base), std::move(kept), origin);
  }
  uint64_t checksum = 0;
  for (std::vector<Text>* part : {&training_, &held_out_})
    for (Text& text : *part) {
      text.tokens.resize(std::min(text.tokens.size(), static_cast<size_t>(context_) - 2));
      text.tokens = tokenizer_->enclose(text.tokens);
      const uint64_t pair[] = {checksum, checksum64(text.tokens.data(), text.tokens.size() * sizeof(int)) +
                                             static_cast<uint64_t>(text.label)};
      checksum = checksum64(pair, sizeof pair);
    }
  description_ = message(origin, ", ", training_.size(), " texts and ", held_out_.size(), " held out, ",
                         vocab(), " tokens, context ", context_, ", checksum ", checksum);
}

void LabelledTextData::start(int sequences, size_t longest, Batch& batch) {
  const size_t count = static_cast<size_t>(sequences);
  batch.sequences = sequences;
  batch.length = static_cast<int>(longest);
  batch.tokens.assign(count * longest, nn::SentenceTokenizer::kEnd);
  batch.targets.resize(count);
  batch.lengths.resize(count);
}

void LabelledTextData::write(const Text& text, size_t s, Batch& batch) {
  std::copy(text.tokens.begin(), text.tokens.end(),
            batch.tokens.begin() + static_cast<std::ptrdiff_t>(s) * batch.length);
  batch.lengths[s] = static_cast<int>(text.tokens.size());
  batch.targets[s] = text.label;
}

void LabelledTextData::draw(int sequences, TrainingRandom& random, Batch& batch) const {
  TrainingRandom ahead = random;  // the same numbers once more: the longest is needed first
  size_t longest = 0;
  for (int s = 0; s < sequences; ++s)
    longest = std::max(longest, training_[ahead.integer(training_.size())].tokens.size());
  start(sequences, longest, batch);
  for (int s = 0; s < sequences; ++s)
    write(training_[random.integer(training_.size())], static_cast<size_t>(s), batch);
}

Batch LabelledTextData::validation(int sequences) const {
  const size_t count = std::min(held_out_.size(), static_cast<size_t>(sequences));
  size_t longest = 0;
  for (size_t s = 0; s < count; ++s) longest = std::max(longest, held_out_[s].tokens.size());
  Batch batch;
  start(static_cast<int>(count), longest, batch);
  for (size_t s = 0; s < count; ++s) write(held_out_[s], s, batch);
  return batch;
}

double LabelledTextData::mean_tokens() const {
  double sum = 0;
  for (const Text& text : training_) sum += static_cast<double>(text.tokens.size());
  return sum / static_cast<double>(training_.size());
}

}  // namespace psm::train
