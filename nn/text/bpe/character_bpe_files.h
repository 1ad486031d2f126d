// Reads and writes tokenizer.json of character-level BPE. nn/text/bpe/bpe_json.h says what is refused, and how.
#pragma once

#include <string>

#include "nn/text/bpe/bpe.h"
#include "nn/text/bpe/bpe_json.h"

namespace psm::nn {

// {"normalizer": Sequence of Prepend and Replace, or null; "pre_tokenizer": null, or a Metaspace that does not
//  split; "model": {"type": "BPE", "byte_fallback": true, "unk_token", "fuse_unk", "vocab", "merges"}}
BpeSpec character_spec_from_tokenizer_json(const Json& json, const std::string& what);
// Writes a file that the function above and the `tokenizers` library read. indent 0: in one line.
std::string character_tokenizer_json(const BpeSpec& spec, int indent);

}  // namespace psm::nn
