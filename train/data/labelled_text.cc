#include "train/data/labelled_text.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "nn/inputs/gzip_file.h"
#include "train/data/qnli.h"
#include "train/data/sst2.h"

namespace psm::train {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr size_t kHeldOut = 1000, kLeastWords = 12;

size_t held_out_of(const std::vector<LabelledText>& texts) {
  return std::clamp<size_t>(texts.size() / 10, 1, kHeldOut);
}

}  // namespace

std::string read_labelled_file(const std::string& path) { return nn::read_maybe_gzip(path, kMaxBytes); }

LabelledSplit read_labelled_split(const std::string& path) {
  const std::string text = read_labelled_file(path);
  if (is_qnli(text)) {
    const std::vector<LabelledText> pairs = parse_qnli(text, path);
    return split_pairs(pairs, held_out_of(pairs));
  }
  if (!is_sst2(text))
    throw Error(message(path,
                        ", line 1: the heading is neither SST-2's (sentence, label) nor QNLI's (index, "
                        "question, sentence, label), with tabs between; give a file with one of them"));
  const std::vector<LabelledText> phrases = parse_sst2(text, path);
  return split_phrases(phrases, held_out_of(phrases), kLeastWords);
}

}  // namespace psm::train
