#include "train/data/text_data.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "nn/text/bpe/tokenizer_tables.h"
#include "nn/text/lines.h"

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

std::string sized(std::string_view text) {
  return message(text.size(), " bytes, checksum ", checksum64(text.data(), text.size()));
}

}  // namespace

TextData::TextData(std::string_view text, std::optional<std::string_view> valid, int context,
                   std::shared_ptr<const nn::Tokenizer> tokenizer)
    : context_(context) {
  if (context < 1) throw Error(message("a context of ", context, " tokens: give at least 1"));
  description_ = message("text of ", sized(text), ", context ", context, ", held out ",
                         valid ? "another of " + sized(*valid) : message(kShareHeldOut));
  const auto own = valid ? nn::alphabet_of(std::string(text).append(*valid)) : nn::alphabet_of(text);
  tokenizer_ = tokenizer ? std::move(tokenizer) : own;
  if (const std::string kept = nn::tokenizer_bytes(*tokenizer_); kept != nn::tokenizer_bytes(*own))
    description_ += message(", ", vocab(), " tokens, checksum ", checksum64(kept.data(), kept.size()));
  const size_t begin = valid ? text.size() : held_out_begin(text);
  tokens_ = tokenizer_->encode(text.substr(0, begin));
  split_ = tokens_.size();
  const std::vector<int> others = tokenizer_->encode(valid.value_or(text.substr(begin)));
  tokens_.insert(tokens_.end(), others.begin(), others.end());
  const size_t window = static_cast<size_t>(context_) + 1;
  if (training_tokens() < window || held_out_tokens() < window)
    throw Error(message("the text has ", training_tokens(), " tokens for training and ", held_out_tokens(),
                        " held out, too few for windows of ", window,
                        "; give a longer text or a shorter context"));
}

void TextData::copy(size_t begin, int sequence, Batch& batch) const {
  const size_t at = static_cast<size_t>(sequence) * context();
  std::copy_n(tokens_.begin() + begin, context(), batch.tokens.begin() + at);
  std::copy_n(tokens_.begin() + begin + 1, context(), batch.targets.begin() + at);
}

Batch TextData::draw(int sequences, TrainingRandom& random) const {
  Batch batch;
  batch.start_texts(sequences, context());
  for (int s = 0; s < sequences; ++s) copy(random.integer(split_ - context()), s, batch);
  return batch;
}

Batch TextData::validation(int sequences) const {
  const size_t available = (held_out_tokens() - 1) / context();
  Batch batch;
  batch.start_texts(static_cast<int>(std::min<size_t>(available, sequences)), context());
  for (int s = 0; s < batch.sequences; ++s)
    copy(split_ + available * s / batch.sequences * context(), s, batch);
  return batch;
}

std::vector<std::string_view> split_documents(std::string_view text) {
  std::vector<std::string_view> documents;
  size_t begin = 0;  // of the document, or of the mark's line end before it
  const auto end_at = [&](size_t end) {
    const std::string_view document = text.substr(begin, end - begin);
    const size_t first = document.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos) documents.push_back(document.substr(first));
  };
  for (const std::string_view line : nn::lines_of(text))
    if (line == nn::kEndOfText) {
      const auto at = static_cast<size_t>(line.data() - text.data());
      end_at(at);
      begin = at + line.size();
    }
  end_at(text.size());
  return documents;
}

std::vector<std::vector<int>> encode_documents(std::string_view text, const nn::Tokenizer& tokenizer) {
  std::vector<std::vector<int>> documents;
  for (const std::string_view document : split_documents(text)) {
    documents.push_back(tokenizer.encode(document));
    if (const auto start = tokenizer.start()) documents.back().insert(documents.back().begin(), *start);
  }
  return documents;
}

std::vector<std::span<const int>> document_windows(std::span<const std::vector<int>> documents, int context) {
  std::vector<std::span<const int>> windows;
  for (const std::vector<int>& document : documents)
    for (size_t begin = 0; begin + 1 < document.size(); begin += static_cast<size_t>(context)) {
      const size_t length = std::min<size_t>(document.size() - 1 - begin, static_cast<size_t>(context));
      windows.push_back(std::span(document).subspan(begin, length + 1));
    }
  if (windows.empty())
    throw Error("the text has no token to predict; give one with a document of two tokens or more");
  return windows;
}

}  // namespace psm::train
