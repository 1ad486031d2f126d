// What a byte-level BPE tokenizer is made of, whichever file it came from (nn/text/bpe/byte_bpe_files.h) or
// whoever trained it (nn/text/bpe/bpe_trainer.h); nn/text/bpe/byte_bpe.h runs it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/text/bpe/added_tokens.h"
#include "nn/text/bpe/byte_level.h"
#include "nn/text/bpe/text_ends.h"

namespace psm::nn {

struct ByteBpeSpec {
  std::vector<std::string> tokens;  // their bytes, by id; empty where no token of that id can be merged
  std::vector<std::pair<int, int>> merges;  // in order of rank: two ids; what they make is a token
  std::vector<AddedToken> added;
  bool nfc = false;           // texts are brought to normalisation form C first
  bool prefix_space = false;  // a space is put in front of a text that begins with none
  WordRule rule = WordRule::kGpt2;
  bool single_digits = false;  // numbers are cut out first, a word each
  bool whole_words = false;    // a word that is a token is not merged ("ignore_merges")
  TextEnds ends;
};

}  // namespace psm::nn
