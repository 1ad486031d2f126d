#include "train/data/text_data.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "nn/text/bpe/tokenizer_tables.h"

namespace psm::train {
namespace {

constexpr double kShareHeldOut = 0.1;

// Where the last part of a text begins: in front of a character of UTF-8, not in one.
size_t held_out_begin(std::string_view text) {
  size_t begin = static_cast<size_t>(static_cast<double>(text.size()) * (1 - kShareHeldOut));
  const auto inside = [&] { return begin < text.size() && (text[begin] & 0xC0) == 0x80; };
  for (int i = 0; i < 3 && begin > 0 && inside(); ++i) --begin;
  return begin;
}

}  // namespace

TextData::TextData(std::string_view text, int context, std::shared_ptr<const nn::Tokenizer> tokenizer)
    : context_(context),
      description_(message("text of ", text.size(), " bytes, checksum ", checksum64(text.data(), text.size()),
                           ", context ", context, ", held out ", kShareHeldOut)) {
  const size_t begin = held_out_begin(text);
  tokenise(text.substr(0, begin), text.substr(begin), nn::alphabet_of(text), std::move(tokenizer));
}

TextData::TextData(std::string_view training, std::string_view held_out, int context,
                   std::shared_ptr<const nn::Tokenizer> tokenizer)
    : context_(context),
      description_(message("text of ", training.size(), " bytes, checksum ",
                           checksum64(training.data(), training.size()), ", context ", context,
                           ", held out another of ", held_out.size(), " bytes, checksum ",
                           checksum64(held_out.data(), held_out.size()))) {
  tokenise(training, held_out, nn::alphabet_of(std::string(training).append(held_out)), std::move(tokenizer));
}

TextData::TextData(const std::vector<std::vector<int>>& sequences,
                   std::shared_ptr<const nn::Tokenizer> tokenizer, const std::string& origin)
    : tokenizer_(std::move(tokenizer)) {
  const size_t total = sequences.size(), length = total < 2 ? 0 : sequences[0].size();
  if (length < 2)
    throw Error(message(origin, ": ", total,
                        " sequences are too few or too short to train on; give two of two tokens at least"));
  for (const std::vector<int>& sequence : sequences) {
    if (sequence.size() != length)
      throw Error(message(origin, ": sequences of ", sequence.size(), " and ", length,
                          " tokens; give all the same length"));
    tokens_.insert(tokens_.end(), sequence.begin(), sequence.end());
  }
  context_ = static_cast<int>(length) - 1;
  apart_ = length;
  split_ = (total - std::max<size_t>(1, total / 10)) * length;
  description_ = message(origin, ", ", total, " sequences of ", length, " tokens, checksum ",
                         checksum64(tokens_.data(), tokens_.size() * sizeof(int)));
}

void TextData::tokenise(std::string_view training, std::string_view held_out,
                        std::shared_ptr<const nn::Tokenizer> own,
                        std::shared_ptr<const nn::Tokenizer> tokenizer) {
  if (context_ < 1) throw Error(message("a context of ", context_, " tokens: give at least 1"));
  if (tokenizer) {
    if (const std::string kept = nn::tokenizer_bytes(*tokenizer); kept != nn::tokenizer_bytes(*own))
      description_ +=
          message(", ", tokenizer->vocab(), " tokens, checksum ", checksum64(kept.data(), kept.size()));
    tokenizer_ = std::move(tokenizer);
  } else {
    tokenizer_ = std::move(own);
  }
  tokens_ = tokenizer_->encode(training);
  split_ = tokens_.size();
  const std::vector<int> others = tokenizer_->encode(held_out);
  tokens_.insert(tokens_.end(), others.begin(), others.end());
  const size_t window = static_cast<size_t>(context_) + 1;
  if (training_tokens() < window || held_out_tokens() < window)
    throw Error(message("the text has ", training_tokens(), " tokens for training and ", held_out_tokens(),
                        " held out, too few for windows of ", window,
                        "; give a longer text or a shorter context"));
}

size_t TextData::windows(size_t tokens, size_t apart) const { return (tokens - context() - 1) / apart + 1; }

void TextData::copy(size_t begin, int sequence, Batch& batch) const {
  const size_t at = static_cast<size_t>(sequence) * context();
  std::copy_n(tokens_.begin() + begin, context(), batch.tokens.begin() + at);
  std::copy_n(tokens_.begin() + begin + 1, context(), batch.targets.begin() + at);
}

Batch TextData::draw(int sequences, TrainingRandom& random) const {
  Batch batch;
  batch.start_texts(sequences, context());
  for (int s = 0; s < sequences; ++s) copy(apart_ * random.integer(windows(split_, apart_)), s, batch);
  return batch;
}

Batch TextData::validation(int sequences) const {
  const size_t apart = std::max<size_t>(apart_, context()), available = windows(held_out_tokens(), apart);
  Batch batch;
  batch.start_texts(static_cast<int>(std::min<size_t>(available, sequences)), context());
  for (int s = 0; s < batch.sequences; ++s) copy(split_ + available * s / batch.sequences * apart, s, batch);
  return batch;
}

}  // namespace psm::train
