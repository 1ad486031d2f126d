#include "nn/text/bpe/added_tokens.h"

#include <unordered_set>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/unicode/unicode.h"

namespace psm::nn {
namespace {

bool is_space(std::string_view text, size_t at) {
  return text_class(utf8_at(text, at).code) == TextClass::kSpace;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, Normalise normalise,
                         const std::vector<std::string>& merged, const std::string& what)
    : tokens_(std::move(tokens)), normalise_(std::move(normalise)) {
  std::unordered_set<std::string> texts;
  for (size_t place = 0; place < tokens_.size(); ++place) {
    const AddedToken& added = tokens_[place];
    const auto refuse = [&](const auto&... why) {
      throw Error(message(what, ": added token \"", visible(added.text), "\" ", why...));
    };
    if (added.text.empty() || utf8_valid_prefix(added.text) < added.text.size())
      refuse("is empty or no UTF-8");
    patterns_.push_back(added.normalised && normalise_ ? normalise_(added.text) : added.text);
    if (added.id < 0 || added.id >= kMaxTokens)
      refuse("has id ", added.id, "; 0 to ", kMaxTokens - 1, " are read");
    const size_t id = static_cast<size_t>(added.id);
    if (id < merged.size() && !merged[id].empty() && merged[id] != added.text)
      refuse("has the id of \"", visible(merged[id]), "\", ", id);
    if (!at_.emplace(added.id, place).second) refuse("has the id of another one, ", added.id);
    if (!texts.insert(patterns_.back()).second) refuse("stands twice");
    vocab_ = std::max(vocab_, added.id + 1);
    (added.normalised ? normalised_ : raw_)[static_cast<unsigned char>(patterns_.back()[0])].push_back(place);
  }
  for (Index* index : {&raw_, &normalised_})
    for (std::vector<size_t>& places : *index)
      std::ranges::sort(places, std::greater(), [&](size_t place) { return patterns_[place].size(); });
}

const std::string* AddedTokens::find(int id) const {
  const auto found = at_.find(id);
  return found == at_.end() ? nullptr : &tokens_[found->second].text;
}

size_t AddedTokens::space_end(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text, at)) at += static_cast<size_t>(utf8_at(text, at).bytes);
  return at;
}

size_t AddedTokens::space_begin(std::string_view text, size_t at) {
  while (at > 0) {
    size_t character = at - 1;
    while (utf8_at(text, character).bytes == 0) --character;
    if (!is_space(text, character)) break;
    at = character;
  }
  return at;
}

}  // namespace psm::nn
