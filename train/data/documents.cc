#include "train/data/documents.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "nn/text/lines.h"

namespace psm::train {

std::vector<std::string_view> split_documents(std::string_view text) {
  std::vector<std::string_view> documents;
  size_t begin = 0;  // of the document, or of the mark's line end before it
  const auto end_at = [&](size_t end) {
    const std::string_view document = text.substr(begin, end - begin);
    const size_t first = document.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos) documents.push_back(document.substr(first));
  };
  for (const std::string_view line : nn::lines_of(text))
    if (line == nn::kEndOfText) {
      const auto at = static_cast<size_t>(line.data() - text.data());
      end_at(at);
      begin = at + line.size();
    }
  end_at(text.size());
  return documents;
}

std::vector<std::vector<int>> encode_documents(std::string_view text, const nn::Tokenizer& tokenizer) {
  std::vector<std::vector<int>> documents;
  for (const std::string_view document : split_documents(text)) {
    documents.push_back(tokenizer.encode(document));
    if (const auto start = tokenizer.start()) documents.back().insert(documents.back().begin(), *start);
  }
  return documents;
}

std::vector<std::span<const int>> document_windows(std::span<const std::vector<int>> documents, int context) {
  std::vector<std::span<const int>> windows;
  for (const std::vector<int>& document : documents)
    for (size_t begin = 0; begin + 1 < document.size(); begin += static_cast<size_t>(context)) {
      const size_t length = std::min<size_t>(document.size() - 1 - begin, static_cast<size_t>(context));
      windows.push_back(std::span(document).subspan(begin, length + 1));
    }
  if (windows.empty())
    throw Error("the text has no token to predict; give one with a document of two tokens or more");
  return windows;
}

}  // namespace psm::train
