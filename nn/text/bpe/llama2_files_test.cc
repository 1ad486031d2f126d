#include <cstdint>
#include <limits>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/testing/shared_data.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_file.h"

namespace psm::nn {
namespace {

struct Entry {
  std::string text;
  float score = 0;
};

std::string file_of(const std::vector<Entry>& entries, int32_t longest = 6) {
  std::string file(reinterpret_cast<const char*>(&longest), sizeof longest);
  for (const Entry& entry : entries) {
    const auto length = static_cast<int32_t>(entry.text.size());
    file.append(reinterpret_cast<const char*>(&entry.score), sizeof entry.score);
    file.append(reinterpret_cast<const char*>(&length), sizeof length);
    file += entry.text;
  }
  return file;
}

const std::vector<Entry> kEntries = {{"<unk>"},  {"<s>"},    {"</s>"},  {"<0x0A>"}, {"<0xC3>"}, {"<0xA9>"},
                                     {"<0xFF>"}, {" "},      {"a"},     {"b"},      {"c"},      {"ab", -2},
                                     {"bc", -1}, {"ca", -3}, {"aa", 1}, {" a", -9}};

TEST_CASE("the pair of the highest score is merged first, the leftmost of equals") {
  const Tokenizer tokenizer(llama2_spec(file_of(kEntries), "test"), "test");
  CHECK(tokenizer.vocab() == 16);
  CHECK(tokenizer.encode("abc") == std::vector<int>{15, 12});  // bc, then " a"
  CHECK(tokenizer.encode("aaa") == std::vector<int>{7, 14, 8});
  CHECK(tokenizer.encode("babc") == std::vector<int>{7, 9, 8, 12});
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("characters without a token become bytes, and come back") {
  const Tokenizer tokenizer(llama2_spec(file_of(kEntries), "test"), "test");
  CHECK(tokenizer.encode("é\n\xff") == std::vector<int>{7, 4, 5, 3, 6});
  for (const std::string text : {"abc", " abc", "é\n\xff", "a b  c", ""})
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK(tokenizer.decode(std::vector<int>{1, 15, 12, 2}) == "abc");
  CHECK(visible(tokenizer.bytes(3)) == "\\n");
  CHECK_THROWS_WITH_AS(tokenizer.encode("ad"),
                       "the text has \"d\", and the tokenizer no token for it; leave it out", Error);
}

TEST_CASE("files that are truncated or hold what no tokenizer has are refused") {
  const std::string file = file_of(kEntries);
  size_t whole = 0;
  for (size_t size = 0; size < file.size(); ++size) {
    try {
      const Tokenizer shorter(llama2_spec(file.substr(0, size), "test"), "test");
      ++whole;  // the file ends between two tokens
    } catch (const Error&) {
    }
  }
  CHECK(whole == kEntries.size() - 3);
  const auto refused = [](const std::string& bytes) {
    CHECK_THROWS_AS(Tokenizer(llama2_spec(bytes, "test"), "test"), Error);
  };
  refused(file_of(kEntries, 0));
  refused(file_of(kEntries, 5));
  refused(file_of(kEntries, std::numeric_limits<int32_t>::max()));
  refused(file_of({{"<unk>"}, {"<s>"}, {"</s>"}, {""}}));
  refused(file_of({{"<unk>"}, {"<s>"}, {"</s>"}, {"a"}, {"a"}}));
  refused(file_of({{"<unk>"}, {"<s>"}, {"</s>"}, {"<0x0A>"}, {"<0x0A>"}}));
  refused(file_of({{"<unk>"}, {"<s>"}, {"</s>"}, {"a", std::numeric_limits<float>::quiet_NaN()}}));
}

TEST_CASE("a real tokenizer encodes a text as llama2.c does" * doctest::test_suite("external")) {
  const auto path = shared_data("model/tok512.bin"), text_path = shared_data("text/tinystories-5docs.txt");
  if (!path || !text_path) return;
  const Tokenizer tokenizer(llama2_spec(read_file(*path, 1 << 20), *path), *path);
  CHECK(tokenizer.vocab() == 512);
  CHECK(tokenizer.encode("Zoë said: “hi”\n 1\t") ==
        std::vector<int>{410, 469, 414, 198, 174, 336, 467, 410, 465, 415, 417, 466, 13, 410, 475, 12});
  const std::string text = read_file(*text_path, 1 << 20);
  const std::vector<int> tokens = tokenizer.encode(text);
  CHECK(tokens.size() == 1878);
  int64_t sum = 0;  // from a transcription of run.c's quadratic loop to Python
  for (size_t i = 0; i < tokens.size(); ++i) sum += static_cast<int64_t>(i + 1) * tokens[i];
  CHECK(sum == 622833403);
  CHECK(tokenizer.decode(tokens) == text);
}

}  // namespace
}  // namespace psm::nn
