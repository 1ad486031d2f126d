#include "cmd/generation/client/text_record.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"

namespace psm::cmd {

namespace {

// Orders as the numbers do, -0 like 0. Below them all: 0, of what is not a number.
uint64_t order(double z) {
  const auto bits = std::bit_cast<uint64_t>(z + 0.0);
  const uint64_t negative = 0 - (bits >> 63), number = 0 - uint64_t{z == z};
  return (bits ^ (negative | uint64_t{1} << 63)) & number;
}

}  // namespace

int Sampler::pick(std::span<const double> logits, int position) const {
  const bool some = temperature > 0 && top_k > 0;
  const size_t most = some ? std::min<size_t>(top_k, logits.size()) : logits.size();
  // The largest that as many logits reach, bit by bit.
  uint64_t border = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint64_t raised = border | uint64_t{1} << bit;
    size_t reach = 0;
    for (const double z : logits) reach += order(z) >= raised;
    border |= uint64_t{reach >= most} << bit;
  }
  TrainingRandom random = TrainingRandom(seed).split(static_cast<uint64_t>(position));
  uint64_t largest = 0, token = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double uniform = (static_cast<double>(random.next_u64() >> 12) + 0.5) * 0x1p-52;
    const double gumbel = -std::log(-std::log(uniform));
    const uint64_t among = 0 - uint64_t{order(logits[i]) >= border};
    const uint64_t score = order(logits[i] + temperature * gumbel) & among;
    const uint64_t larger = 0 - uint64_t{score > largest};
    largest ^= (largest ^ score) & larger;
    token ^= (token ^ i) & larger;
  }
  return static_cast<int>(token);
}

namespace {

constexpr uint64_t kMaxBytes = 256 << 20;

void write_private(const std::string& path, const std::string& content) {
  AtomicFile file(path, AtomicFile::Kind::kSecret);
  file.write(content);
  file.commit();
}

}  // namespace

TextRecord TextRecord::parse(const std::string& note, const std::string& path, int vocab) {
  const auto record = parse_note<TextRecord>(note, path);
  for (const int token : record.tokens)
    if (token < 0 || token >= vocab)
      throw Error(message(path, " has the token ", token, ", and the model has tokens below ", vocab));
  if (!(record.sampler.temperature >= 0) || !std::isfinite(record.sampler.temperature))
    throw Error(path + " has a temperature that is no number");
  return record;
}

TextFolder::TextFolder(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) lock_.emplace(folder_, "goes on with the text");
}

TextFolder::~TextFolder() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::optional<TextRecord> TextFolder::load(int vocab) const {
  const std::string path = folder_ + "/text.record";
  if (folder_.empty() || !std::filesystem::exists(path)) return std::nullopt;
  return TextRecord::parse(read_file(path, kMaxBytes), path, vocab);
}

void TextFolder::save(const TextRecord& record) const {
  if (!folder_.empty()) write_private(folder_ + "/text.record", note_text(record));
}

std::optional<std::string> TextFolder::request(uint64_t longest) const {
  const std::string path = folder_ + "/request.ct";
  if (folder_.empty() || !std::filesystem::exists(path)) return std::nullopt;
  return read_file(path, longest);
}

void TextFolder::save_request(const std::string& bytes) const {
  if (!folder_.empty()) write_private(folder_ + "/request.ct", bytes);
}

}  // namespace psm::cmd
