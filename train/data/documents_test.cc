#include "train/data/documents.h"

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

// Letters a to z as tokens 1 to 26, everything else as 27; 0 begins a text.
class Letters final : public nn::Tokenizer {
 public:
  int vocab() const override { return 28; }
  std::vector<int> encode(std::string_view text) const override {
    std::vector<int> tokens;
    for (const char c : text) tokens.push_back(c >= 'a' && c <= 'z' ? c - 'a' + 1 : 27);
    return tokens;
  }
  std::string decode(std::span<const int>) const override { return {}; }
  std::string bytes(int) const override { return {}; }
  std::optional<int> start() const override { return 0; }
};

TEST_CASE("lines that mark an end separate documents, white space alone is none") {
  using Texts = std::vector<std::string_view>;
  CHECK(split_documents("one\ntwo\n") == Texts{"one\ntwo\n"});
  CHECK(split_documents("one\n<|endoftext|>\ntwo") == Texts{"one\n", "two"});
  CHECK(split_documents("one\r\n<|endoftext|>\r\n\n<|endoftext|>\ntwo\n<|endoftext|>") ==
        Texts{"one\r\n", "two\n"});
  CHECK(split_documents("a <|endoftext|> b") == Texts{"a <|endoftext|> b"});
  CHECK(split_documents("one\n<|endoftext|>\n\n two\n") == Texts{"one\n", "two\n"});
  CHECK(split_documents("").empty());
  CHECK(split_documents(" \n").empty());
}

TEST_CASE("a document is encoded behind the token that begins a text") {
  CHECK(encode_documents("ab\n<|endoftext|>\nc", Letters()) ==
        std::vector<std::vector<int>>{{0, 1, 2, 27}, {0, 3}});
}

TEST_CASE("every token but the first of a document is predicted once, whatever the context") {
  const std::vector<std::vector<int>> documents = {{0, 1, 2, 3, 4, 5, 6}, {7}, {8, 9}};
  Batch batch = document_batch(documents, 100);
  CHECK(batch.sequences == 2);
  CHECK(batch.length == 6);
  CHECK(batch.tokens == std::vector<int>{0, 1, 2, 3, 4, 5, 8, 0, 0, 0, 0, 0});
  CHECK(batch.targets == std::vector<int>{1, 2, 3, 4, 5, 6, 9, -1, -1, -1, -1, -1});
  CHECK(batch.lengths == std::vector<int>{6, 1});
  batch = document_batch(documents, 4);
  CHECK(batch.sequences == 3);
  CHECK(batch.tokens == std::vector<int>{0, 1, 2, 3, 4, 5, 0, 0, 8, 0, 0, 0});
  CHECK(batch.targets == std::vector<int>{1, 2, 3, 4, 5, 6, -1, -1, 9, -1, -1, -1});
  CHECK(batch.lengths == std::vector<int>{4, 2, 1});
  CHECK(document_batch(documents, 3).scored() == 7);
  CHECK(document_batch(documents, 1).scored() == 7);
}

TEST_CASE("documents in which nothing follows are refused") {
  const std::vector<std::vector<int>> documents = {{5}, {}};
  CHECK_THROWS_AS(document_batch(documents, 4), Error);
}

}  // namespace
}  // namespace psm::train
