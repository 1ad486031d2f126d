#include "cmd/claims/data_files.h"

#include <filesystem>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/random/sha256.h"
#include "nn/text/unicode/unicode.h"

namespace psm::cmd {
namespace {

constexpr std::pair<char32_t, const char*> kInAscii[] = {{U'\u2018', "'"},  {U'\u2019', "'"},
                                                         {U'\u201C', "\""}, {U'\u201D', "\""},
                                                         {U'\u2013', "--"}, {U'\u2014', "--"}};

std::string to_ascii(const std::string& text) {
  std::string out;
  const std::string decomposed = nn::to_nfd(text);
  for (size_t at = 0; at < decomposed.size();) {
    const Utf8Character next = utf8_at(decomposed, at);
    at += static_cast<size_t>(next.bytes);
    if (next.code < 0x80 && next.code != U'\r') out += static_cast<char>(next.code);
    for (const auto& [character, ascii] : kInAscii)
      if (next.code == character) out += ascii;
  }
  return out;
}

// A novel without what is not its text, every paragraph followed by one empty line.
std::string body_of(const std::string& raw) {
  std::istringstream lines(to_ascii(raw));
  std::string body, line;
  while (std::getline(lines, line)) {
    if (line.starts_with("*** END")) break;
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.starts_with("*** START")) {
      body.clear();
    } else if (!line.empty() || (!body.empty() && !body.ends_with("\n\n"))) {
      body += line + "\n";
    }
  }
  while (body.ends_with("\n\n")) body.pop_back();
  return body + "\n";
}

}  // namespace

std::vector<DataFile> check_data(const Json& data, const std::string& folder) {
  constexpr std::string_view kName = "data.json";
  std::vector<DataFile> files;
  for (const Json& entry : data.at("files", kName).array(kName)) {
    const auto text = [&](const char* key) { return entry.at(key, kName).string(key); };
    DataFile& file = files.emplace_back(DataFile{text("path"), text("source"), text("prepared")});
    const std::string path = folder + "/" + file.path;
    const auto bytes = static_cast<uint64_t>(entry.at("bytes", kName).integer("bytes", 1, int64_t{1} << 32));
    std::error_code failed;
    if (!std::filesystem::exists(path)) continue;
    file.state = DataState::kDiffers;
    if (std::filesystem::file_size(path, failed) != bytes || failed) continue;
    const std::string content = read_file(path, bytes);
    const Sha256::Digest digest = sha256(content.data(), content.size());
    if (hex(digest.data(), digest.size()) == text("sha256")) file.state = DataState::kThere;
  }
  return files;
}

std::pair<std::string, std::string> prepare_novels(const std::vector<std::string>& raw) {
  std::string train, held_out;
  for (const std::string& novel : raw) {
    if (utf8_valid_prefix(novel) != novel.size()) throw Error("a raw text is not UTF-8");
    const std::string body = body_of(novel);
    const size_t paragraph = body.find("\n\n", body.size() - body.size() / 20);
    const size_t cut = paragraph == body.npos || paragraph + 2 >= body.size() ? body.size() : paragraph + 2;
    train += body.substr(0, cut);
    held_out += body.substr(cut);
  }
  return {train, held_out};
}

}  // namespace psm::cmd
