#include "nn/text/bpe/byte_level_files.h"

#include <array>

#include "ckks/base/files/utf8.h"

namespace psm::nn {
namespace {

// The code point that stands for each byte.
constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> table{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table[byte] = printable ? byte : next++;
  }
  return table;
}

constexpr std::array<char32_t, 256> kCharacters = make_characters();
constexpr char32_t kEnd = 256 + 68;  // behind the last of them

constexpr std::array<int, kEnd> make_bytes() {
  std::array<int, kEnd> table{};
  table.fill(-1);
  for (int byte = 0; byte < 256; ++byte) table[kCharacters[byte]] = byte;
  return table;
}

constexpr std::array<int, kEnd> kByteOfCharacter = make_bytes();

// In the order of WordRule.
constexpr std::string_view kExpressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

}  // namespace

std::string_view expression_of(WordRule rule) { return kExpressions[static_cast<size_t>(rule)]; }

std::optional<WordRule> rule_of(std::string_view expression) {
  for (const WordRule rule : {WordRule::kGpt2, WordRule::kLlama3, WordRule::kQwen2})
    if (expression == expression_of(rule)) return rule;
  return std::nullopt;
}

std::string bytes_to_characters(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_utf8(out, kCharacters[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> characters_to_bytes(std::string_view characters) {
  std::string out;
  for (size_t at = 0; at < characters.size();) {
    const Utf8Character character = utf8_at(characters, at);
    if (character.bytes == 0 || character.code >= kEnd || kByteOfCharacter[character.code] < 0)
      return std::nullopt;
    out.push_back(static_cast<char>(kByteOfCharacter[character.code]));
    at += static_cast<size_t>(character.bytes);
  }
  return out;
}

}  // namespace psm::nn
