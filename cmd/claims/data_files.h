// The files outside the repository that experiments and tests read: testdata/data.json.
//
//     files    [{"path", "title", "source", "licence", "bytes", "sha256", "prepared"}], paths below ../shared/data
//     novels   [{"title", "author", "ebook", "raw"}]; text/gutenberg7-{train,valid}.txt are made of them, in this order
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"

namespace psm::cmd {

enum class DataState { kThere, kMissing, kDiffers };

struct DataFile {
  std::string path, source, prepared;
  DataState state = DataState::kMissing;  // by its length and SHA-256
};

// The state of every file that data.json names, below `folder`.
std::vector<DataFile> check_data(const Json& data, const std::string& folder);

// The text to train on and the text held out, of raw texts of Project Gutenberg in UTF-8. Each text is cut to what
// stands between the lines that begin with "*** START" and "*** END", if there are any. ASCII replaces quotation marks,
// dashes and accents; other characters are dropped; one empty line is left of many. The last twentieth is held out,
// from the first paragraph on that begins in it. Throws Error for a text that is not UTF-8.
std::pair<std::string, std::string> prepare_novels(const std::vector<std::string>& raw);

}  // namespace psm::cmd
