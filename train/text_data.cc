#include "train/text_data.h"

#include <algorithm>

#include "ckks/base/checksum.h"
#include "ckks/base/error.h"
#include "ckks/base/file.h"

namespace psm {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string shown(unsigned char byte) {
  if (byte > 32 && byte < 127) return std::string("\"") + static_cast<char>(byte) + "\"";
  return message("byte ", static_cast<int>(byte));
}

}  // namespace

Alphabet::Alphabet(std::string_view text) {
  std::array<bool, 256> present{};
  for (char c : text) present[static_cast<unsigned char>(c)] = true;
  for (int b = 0; b < 256; ++b)
    if (present[b]) bytes_.push_back(static_cast<char>(b));
  index();
}

void Alphabet::index() {
  token_.fill(-1);
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    token_[static_cast<unsigned char>(bytes_[i])] = static_cast<int>(i);
}

Alphabet Alphabet::from_string(const std::string& text, const std::string& what) {
  Alphabet alphabet;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = std::string_view(kDigits).find(text[i]);
    const std::size_t low =
        i + 1 < text.size() ? std::string_view(kDigits).find(text[i + 1]) : std::string::npos;
    if (high == std::string::npos || low == std::string::npos)
      throw Error(message(what, ": the alphabet is not pairs of hexadecimal digits; the file is damaged"));
    const char byte = static_cast<char>(high * 16 + low);
    if (!alphabet.bytes_.empty() &&
        static_cast<unsigned char>(byte) <= static_cast<unsigned char>(alphabet.bytes_.back()))
      throw Error(message(what, ": the alphabet is not in order; the file is damaged"));
    alphabet.bytes_.push_back(byte);
  }
  alphabet.index();
  return alphabet;
}

std::vector<int> Alphabet::encode(std::string_view text) const {
  std::vector<int> tokens;
  tokens.reserve(text.size());
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (bytes_.empty() || token_[byte] < 0)
      throw Error(message("the text has ", shown(byte), ", which is not among the ", size(),
                          " characters that the model knows; leave it out"));
    tokens.push_back(token_[byte]);
  }
  return tokens;
}

std::string Alphabet::decode(std::span<const int> tokens) const {
  std::string text;
  for (int token : tokens) {
    PSM_CHECK(token >= 0 && token < size(), token);
    text.push_back(bytes_[token]);
  }
  return text;
}

std::string Alphabet::to_string() const {
  std::string text;
  for (char c : bytes_) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

TextData::TextData(std::string_view text, const TextOptions& options)
    : options_(options), alphabet_(text), tokens_(alphabet_.encode(text)) {
  if (!(options.held_out > 0 && options.held_out < 1))
    throw Error(message("held-out fraction ", options.held_out, ": give a number between 0 and 1"));
  split_ = static_cast<std::size_t>(static_cast<double>(tokens_.size()) * (1 - options.held_out));
  check_lengths();
  description_ = message("text of ", text.size(), " bytes, checksum ", checksum64(text.data(), text.size()),
                         ", context ", options.context, ", held out ", options.held_out);
}

TextData::TextData(std::string_view training, std::string_view held_out, const TextOptions& options)
    : options_(options), alphabet_(std::string(training).append(held_out)), split_(training.size()) {
  tokens_ = alphabet_.encode(training);
  const std::vector<int> others = alphabet_.encode(held_out);
  tokens_.insert(tokens_.end(), others.begin(), others.end());
  check_lengths();
  description_ =
      message("text of ", training.size(), " bytes, checksum ", checksum64(training.data(), training.size()),
              ", context ", options.context, ", held out another of ", held_out.size(), " bytes, checksum ",
              checksum64(held_out.data(), held_out.size()));
}

void TextData::check_lengths() const {
  if (options_.context < 1)
    throw Error(message("a context of ", options_.context, " tokens: give at least 1"));
  const std::size_t window = static_cast<std::size_t>(options_.context) + 1;
  if (training_tokens() < window || held_out_tokens() < window)
    throw Error(message("the text has ", training_tokens(), " bytes for training and ", held_out_tokens(),
                        " held out, too few for windows of ", window,
                        "; give a longer text or a shorter context"));
}

TextData TextData::from_file(const std::string& path, const TextOptions& options) {
  return TextData(read_file(path, options.max_bytes), options);
}

TextData TextData::from_files(const std::string& training, const std::string& held_out,
                              const TextOptions& options) {
  return TextData(read_file(training, options.max_bytes), read_file(held_out, options.max_bytes), options);
}

void TextData::window(std::size_t begin, int sequence, Batch& batch) const {
  const std::size_t at = static_cast<std::size_t>(sequence) * options_.context;
  std::copy_n(tokens_.begin() + begin, options_.context, batch.tokens.begin() + at);
  std::copy_n(tokens_.begin() + begin + 1, options_.context, batch.targets.begin() + at);
}

void TextData::draw(int sequences, TrainingRandom& random, Batch& batch) const {
  batch.sequences = sequences;
  batch.length = options_.context;
  batch.tokens.resize(static_cast<std::size_t>(sequences) * options_.context);
  batch.targets.resize(batch.tokens.size());
  for (int s = 0; s < sequences; ++s) window(random.integer(split_ - options_.context), s, batch);
}

Batch TextData::validation(int sequences) const {
  const std::size_t available = (held_out_tokens() - 1) / options_.context;
  Batch batch;
  batch.sequences = static_cast<int>(std::min<std::size_t>(available, sequences));
  batch.length = options_.context;
  batch.tokens.resize(static_cast<std::size_t>(batch.sequences) * options_.context);
  batch.targets.resize(batch.tokens.size());
  for (int s = 0; s < batch.sequences; ++s)
    window(split_ + (available * s / batch.sequences) * options_.context, s, batch);
  return batch;
}

}  // namespace psm
