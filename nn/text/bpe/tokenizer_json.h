// The files that tokenizers come in: tokenizer.json of the `tokenizers` library (byte-pair encoding of bytes or of
// characters, WordPiece), GPT-2's pair (a vocabulary in JSON, a list of merges), and BERT's vocab.txt.
//
//     {"added_tokens": [..], "post_processor": .., "decoder": ..,
//      "normalizer", "pre_tokenizer"    of bytes: null or NFC; ByteLevel, or before it in a Sequence a Split by one of
//                                       the expressions of nn/text/bpe/byte_level.h or Digits one by one
//                                       of characters: Sequence of Prepend and Replace, and null; or null, and a
//                                       Metaspace that does not split
//      "model": {"type": "BPE", "byte_fallback": true of characters, "vocab": {characters: id},
//                "merges": ["a b", ..] or [["a", "b"], ..], "ignore_merges", "unk_token", "fuse_unk"}}
//
// of WordPiece: BertNormalizer that cleans texts and parts Chinese characters, BertPreTokenizer, and the model
//                {"type": "WordPiece", "vocab", "unk_token", "continuing_subword_prefix": "##",
//                 "max_input_chars_per_word": 100}
//
// Files are untrusted. Sizes, depth and the number of values are bounded before anything is kept; what a file
// asks for and is not done here is refused by name, and so is what the library would not read: members that it does
// not know or that have another form. What of them decides no token is not looked at further: transformers turns
// truncation and padding off. Every error is a psm::Error of one line that begins with `file`. Whether the parts fit
// together is checked by the constructor of Tokenizer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nn/text/bpe/bpe_spec.h"
#include "nn/text/bpe/byte_level.h"

namespace psm::nn {

// The name of a token that ends a text.
inline constexpr const char* kEndOfText = "<|endoftext|>";

// <s> and [CLS] begin a text; </s>, [SEP] and <|endoftext|> end one. An end is added to texts if a beginning is.
inline void take_end(TextEnds& ends, std::string_view name, int id) {
  if (name == "<s>" || name == "[CLS]") ends.start = id;
  if (name == "</s>" || name == "[SEP]" || name == kEndOfText) ends.end = id;
  ends.end_is_added = ends.start.has_value();
}

inline constexpr size_t kMaxTokenizerBytes = size_t{32} << 20;

BpeSpec read_tokenizer_json(std::string_view text, const std::string& file);

// A file that the function above and the `tokenizers` library read; indent 0: in one line. Empty for an alphabet, for
// llama2.c's kind, and for a part of a vocabulary.
std::string tokenizer_json(const BpeSpec& spec, int indent);

// GPT-2's files (encoder.json and vocab.bpe, elsewhere vocab.json and merges.txt): {characters: id}, and one
// merge a line under a line that begins with #version. The special tokens of GPT-2 (<|endoftext|>) and of
// RoBERTa (<s>, <pad>, </s>, <unk>, <mask>) are recognised by their names.
BpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges, const std::string& file);

// BERT's vocab.txt, a token a line. [UNK], [SEP], [PAD], [CLS] and [MASK] are recognised by their names. `config` is the
// tokenizer_config.json next to it, or empty: do_lower_case (true unless given), strip_accents (as do_lower_case).
BpeSpec spec_from_vocabulary(std::string_view lines, std::string_view config, const std::string& file);

// The rule for words as the expression that files have, and back. Returns nullopt for any other expression.
std::string_view expression_of(WordRule rule);
std::optional<WordRule> rule_of(std::string_view expression);

// The bytes of a token as printable characters: 33-126, 161-172 and 174-255 as the code points of the same numbers, the
// other 68, in order, as those from 256 on. So a space is U+0120.
std::string bytes_to_characters(std::string_view bytes);
// Returns nullopt if a character stands for no byte.
std::optional<std::string> characters_to_bytes(std::string_view characters);

}  // namespace psm::nn
