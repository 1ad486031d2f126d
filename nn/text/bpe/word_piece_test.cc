// WordPiece against the `tokenizers` library (0.23.3), whose tokens the numbers below are.
#include <cstdint>
#include <vector>

#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/shared_data.h"
#include "nn/text/bpe/bert_words.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "nn/text/lines.h"
#include "nn/text/sentences.h"

namespace psm::nn {
namespace {

using Tokens = std::vector<int>;

constexpr const char* kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n,\n##a\na\n\u65e5\n";

BpeSpec spec(std::string_view config = "") { return spec_from_vocabulary(kVocabulary, config, "test"); }

Tokens encode(const std::string& text, std::string_view config = "") {
  return Tokenizer(spec(config), "test").encode(text);
}

TEST_CASE("a word is its longest beginning and the longest continuations, or unknown as a whole") {
  CHECK(encode("unaffable") == Tokens{4, 5, 6});
  CHECK(encode("una unaffe aunt") == Tokens{4, 8, 1, 1});
  CHECK(encode(std::string(100, 'a')).size() == 100);
  CHECK(encode(std::string(101, 'a')) == Tokens{1});
  CHECK(encode("") == Tokens{});
}

TEST_CASE("texts are cleaned, lowered and cut at spaces, punctuation and Chinese characters") {
  CHECK(encode("\t UN,\u00e4\u65e5a\x01 [SEP]a") == Tokens{4, 7, 9, 10, 9, 3, 9});
  CHECK(encode("UN,\u00e4", R"({"do_lower_case": false})") == Tokens{1, 7, 1});
  CHECK(encode("UN,\u00e4", R"({"strip_accents": false})") == Tokens{4, 7, 1});
  CHECK(encode("UN,a\u0308", R"({"do_lower_case": false, "strip_accents": true})") == Tokens{1, 7, 9});
  CHECK(bert_text("\u0130\u212a\ufffd\u00ad", false, true) == "i\u0307k");
  CHECK_REFUSED(encode("\xff"), "not UTF-8 at byte 0");
}

TEST_CASE("texts and pairs are enclosed as BERT was trained, and come back with single spaces") {
  const Tokenizer tokenizer(spec(), "test");
  CHECK(sentence_tokens(tokenizer, "a") == Tokens{2, 9, 3});
  CHECK(sentence_tokens(tokenizer, "a\tun") == Tokens{2, 9, 3, 4, 3});
  CHECK(sentence_tokens(tokenizer, "a a a\tun", 5) == Tokens{2, 9, 3, 4, 3});
  CHECK(tokenizer.decode(Tokens{4, 5, 6, 7, 9}) == "unaffable , a");
}

TEST_CASE("what is not done here is refused by name") {
  const std::string json = tokenizer_json(spec(), 0);
  const auto refused = [&](const std::string& from, const std::string& to, const char* why) {
    CHECK_REFUSED(Tokenizer(read_tokenizer_json(replaced(json, from, to), "test"), "test"), why);
  };
  refused("\"clean_text\":true", "\"clean_text\":false", "keeps control characters");
  refused("BertPreTokenizer", "Whitespace", "without BertNormalizer and BertPreTokenizer");
  refused("\"##\",\"max", "\"@@\",\"max", "another sign");
  refused(":100,", ":99,", "more or less than 100 characters");
  refused("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"what\"", "is no token");
  CHECK_REFUSED(Tokenizer(spec_from_vocabulary("a\nb\n", "", "test"), "test"), "without an unknown token");
  CHECK_REFUSED(Tokenizer(spec_from_vocabulary("[UNK]\na\na\n", "", "test"), "test"), "are both \"a\"");
  CHECK_REFUSED(spec(R"({"tokenize_chinese_chars": false})"), "stay together");
  CHECK_REFUSED(spec_from_vocabulary("[UNK]\n\xc3\n", "", "test"), "line 2 is not UTF-8");
}

TEST_CASE("whatever the vocab.txt and the tokenizer_config.json, they are refused or encode") {
  FuzzTarget target{.name = "vocab.txt", .fixed_bytes = 256 << 10, .bytes_per_byte = 400};
  // With a zero byte between them.
  target.corpus = {kVocabulary, kVocabulary + std::string(1, '\0') + R"({"do_lower_case": false})",
                   kVocabulary + std::string(1, '\0') + R"({"strip_accents": true, "max_len": 512})"};
  target.decode = [](std::string_view bytes) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    const Tokenizer tokenizer(
        spec_from_vocabulary(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())), "input"),
        "input");
    const Tokens tokens = tokenizer.encode("Una unaffable\n\xc3\xa9,[SEP]");
    for (const int token : tokens) PSM_CHECK(token >= 0 && token < tokenizer.vocab(), token);
    tokenizer.decode(tokens);
  };
  check_fuzz(target);
  CHECK_REFUSED(spec_from_vocabulary(std::string(kMaxTokens + 1, '\n'), "", "test"),
                "has more than 1048576 lines");
}

// Texts that repeat: any characters, marks and control characters between words of several scripts.
class HostileTexts {
 public:
  std::string next() {
    static const std::string list =
        "the\nunaffable\nNa\u00efve\nCAF\u00c9\nre\u0301sume\u0301\n\u00c5ngstr\u00f6m\n\u0130stanbul\n"
        "\ufb01ne\nstra\u00dfe\n\u1e9e\u03a3\ndon't\nU.S.A.\n3.14\n$5\na_b\nC++\n\u65e5\u672c\u8a9e\n"
        "\ud55c\uad6d\uc5b4\n\u0e44\u0e17\u0e22\n\u0939\u093f\u0928\u094d\u0926\u0940\n"
        "\u0627\u0644\u0639\u0631\u0628\u064a\u0629\n\U0001f917\n[MASK]\n[SEP]\n[sep]\n##ing\n" +
        std::string(100, 'a') + '\n' + std::string(101, 'b') + "\n\u200d\n\ufeff\n\u00a0\n\u2028";
    static const std::vector<std::string_view> words = lines_of(list);
    std::string text;
    for (uint64_t pieces = 1 + draw(12); pieces > 0; --pieces) {
      const uint64_t kind = draw(8);
      if (kind == 0) append(text, draw(0x110000));
      if (kind == 1) append(text, draw(0x3000));
      if (kind == 2) append(text, draw(128));
      if (kind == 3) append(text, 0x300 + draw(0x70));
      if (kind == 4) text += ' ';
      if (kind > 4) text += words[draw(std::size(words))];
    }
    return text;
  }

 private:
  uint64_t draw(uint64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % below;
  }
  static void append(std::string& text, uint64_t code) {
    append_utf8(text, code >= 0xD800 && code < 0xE000 ? 0xFFFD : static_cast<char32_t>(code));
  }

  uint64_t state_ = 1;
};

// FNV-1a of the tokens' numbers, 0xFFFFFFFF behind each text.
class Digest {
 public:
  void add(Tokens tokens) {
    tokens.push_back(-1);
    for (const int token : tokens)
      for (int shift = 0; shift < 32; shift += 8)
        value_ = (value_ ^ (static_cast<uint32_t>(token) >> shift & 255)) * 0x100000001b3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

TEST_CASE("BERT's vocabulary encodes 20,000 hostile texts and MRPC as the tokenizers library does" *
          doctest::test_suite("external")) {
  const auto vocabulary = shared_data("tokenizer/bert-base-uncased-vocab.txt"),
             pairs = shared_data("glue/msr_paraphrase_train.txt");
  if (!vocabulary || !pairs) return;
  const std::string lines = read_file(*vocabulary, kMaxTokenizerBytes);
  const auto check = [&](const char* config, uint64_t expected) {
    const Tokenizer tokenizer(spec_from_vocabulary(lines, config, "test"), "test");
    HostileTexts texts;
    Digest digest;
    for (int i = 0; i < 20000; ++i) digest.add(tokenizer.encode(texts.next()));
    CHECK(digest.value() == expected);
  };
  check("", 0x942fc237824269f2);
  check(R"({"do_lower_case": false})", 0xed4b50e506725494);
  check(R"({"strip_accents": false})", 0x7f2ea4142885de14);
  const auto tokenizer = load_tokenizer(*vocabulary);
  CHECK(tokenizer->vocab() == 30522);
  Digest digest;
  std::string text = read_file(*pairs, 1 << 22);
  if (text.starts_with("\ufeff")) text.erase(0, 3);
  for (const std::string_view line : lines_of(text)) digest.add(tokenizer->encode(line));
  CHECK(digest.value() == 0x31eb66d50d3b88a4);
}

}  // namespace
}  // namespace psm::nn
