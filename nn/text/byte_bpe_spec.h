// What a byte-level BPE tokenizer is made of, whichever file it came from (nn/text/byte_bpe_files.h) or
// whoever trained it (nn/text/bpe_trainer.h); nn/text/byte_bpe.h runs it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace psm::nn {

// The token that ends a text, wherever a vocabulary has one of this name.
inline constexpr const char* kEndOfText = "<|endoftext|>";

// A text that is a token wherever it stands, before words are cut and merged; of several the leftmost, then
// the longest.
struct AddedToken {
  std::string text;
  int id = 0;
  bool special = false;      // stands for no text of its own: the end of a text, a mask
  bool normalised = false;   // looked for after normalisation, behind those that are not
  bool strip_left = false;   // takes the white space on its left with it
  bool strip_right = false;  // and on its right
};

struct ByteBpeSpec {
  std::vector<std::string> tokens;  // their bytes, by id; empty where no token of that id can be merged
  std::vector<std::pair<int, int>> merges;  // in order of rank: two ids; what they make is a token
  std::vector<AddedToken> added;
  bool nfc = false;           // texts are brought to normalisation form C first
  bool prefix_space = false;  // a space is put in front of a text that begins with none
  std::optional<int> start, end;
};

}  // namespace psm::nn
