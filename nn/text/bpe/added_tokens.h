// Added tokens: texts that are tokens wherever they occur. They are cut out before anything is merged, as in
// the `tokenizers` library:
//   1. added tokens that are not normalised are cut out, the leftmost first, then the longest;
//   2. the text between them is normalised, and the other added tokens, normalised too, are cut out.
// The rest is plain text, for the caller to merge.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace psm::nn {

struct AddedToken {
  std::string text;
  int id = 0;
  bool special = false;      // stands for no text of its own: the end of a text, a mask
  bool normalised = false;   // looked for after normalisation, behind those that are not
  bool strip_left = false;   // takes the white space on its left with it
  bool strip_right = false;  // and on its right
};

inline constexpr int kMaxTokens = 1 << 20;

class AddedTokens {
 public:
  // Without `normalise` texts stay as they are. Throws psm::Error that begins with `what` for a text that is
  // empty, not UTF-8 or there twice, and for an id outside [0, kMaxTokens), used twice, or of a merged token
  // with another text.
  using Normalise = std::function<std::string(std::string_view)>;
  AddedTokens(std::vector<AddedToken> tokens, Normalise normalise, const std::vector<std::string>& merged,
              const std::string& what);

  int vocab() const { return vocab_; }    // the largest id and one; 0 without tokens
  const std::string* find(int id) const;  // its text, or null

  // Calls added(id) and plain(text, first), in order. `first`: the text begins with this piece. If there are
  // added tokens, the text must be UTF-8.
  template <typename Added, typename Plain>
  void cut(std::string_view text, const Added& added, const Plain& plain) const {
    split(text, raw_, added, [&](std::string_view piece, size_t begin) {
      std::string normal;
      if (normalise_) piece = normal = normalise_(piece);
      split(piece, normalised_, added,
            [&](std::string_view rest, size_t rest_begin) { plain(rest, begin == 0 && rest_begin == 0); });
    });
  }

 private:
  // By their first byte, the longest first.
  using Index = std::array<std::vector<size_t>, 256>;

  // plain(piece, begin): `begin` is its place in the text.
  template <typename Added, typename Plain>
  void split(std::string_view text, const Index& index, const Added& added, const Plain& plain) const {
    size_t begin = 0;  // of what has not been passed on
    for (size_t at = 0; at < text.size();) {
      const auto& places = index[static_cast<unsigned char>(text[at])];
      const auto found = std::find_if(places.begin(), places.end(), [&](size_t place) {
        return text.substr(at).starts_with(patterns_[place]);
      });
      if (found == places.end()) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[*found];
      const size_t left = token.strip_left ? std::max(begin, space_begin(text, at)) : at;
      at += patterns_[*found].size();
      if (begin < left) plain(text.substr(begin, left - begin), begin);
      added(token.id);
      // The search continues right after the token, as in the library: white space that the token took may be
      // an added token again.
      begin = token.strip_right ? space_end(text, at) : at;
    }
    if (begin < text.size()) plain(text.substr(begin), begin);
  }

  // The end of the white space that begins at `at`, and the beginning of the white space that ends there.
  static size_t space_end(std::string_view text, size_t at);
  static size_t space_begin(std::string_view text, size_t at);

  std::vector<AddedToken> tokens_;
  std::vector<std::string> patterns_;  // what is looked for: the token's text, normalised if it is
  Normalise normalise_;
  int vocab_ = 0;
  std::unordered_map<int, size_t> at_;  // places by id
  Index raw_, normalised_;
};

}  // namespace psm::nn
