#include "cmd/generation/client/text_record.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"

namespace psm::cmd {

int Sampler::pick(std::span<const double> logits, int position) const {
  std::vector<double> z(logits.begin(), logits.end());
  for (double& value : z)
    if (std::isnan(value)) value = -INFINITY;
  std::vector<int> order(z.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t most = temperature == 0 ? 1 : top_k > 0 ? std::min<size_t>(top_k, z.size()) : z.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end(),
                    [&](int a, int b) { return z[a] != z[b] ? z[a] > z[b] : a < b; });
  const double largest = z[order[0]];
  if (temperature == 0 || !std::isfinite(largest)) return order[0];
  std::vector<double> sums;
  double sum = 0;
  for (size_t i = 0; i < most; ++i) sums.push_back(sum += std::exp((z[order[i]] - largest) / temperature));
  TrainingRandom random = TrainingRandom(seed).split(static_cast<uint64_t>(position));
  const double drawn = random.uniform() * sum;
  return order[std::min<size_t>(std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin(), most - 1)];
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
  if (!folder_.empty()) std::filesystem::create_directories(folder_);
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
