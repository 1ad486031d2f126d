#include "train/data/labelled_text.h"

#include <set>

#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/shared_data.h"
#include "nn/text/bpe/bpe_trainer.h"

namespace psm::train {
namespace {

const std::string kPairs = "index\tquestion\tsentence\tlabel\n";

TEST_CASE("phrases are read with their labels, without spaces at their ends") {
  const auto phrases = parse_labelled("sentence\tlabel\nbears and \t1\r\n kids , spirit\t0", "file");
  REQUIRE(phrases.size() == 2);
  CHECK(phrases[0].text == "bears and");
  CHECK(phrases[0].label == 1);
  CHECK(phrases[1].text == "kids , spirit");
  CHECK(phrases[1].label == 0);
}

TEST_CASE("a file of phrases or pairs of another form is refused with its line") {
  const auto refused = [](const std::string& text, const char* why) {
    CHECK_REFUSED(parse_labelled(text, "file"), why);
  };
  refused("", "file, line 1: the heading");
  refused("sentence\tlabel\n", "file holds no phrases");
  refused("sentence\tlabels\n", "file, line 1: the heading");
  refused("sentence\tlabel\ngood\t1\nbad\n", "file, line 3");
  refused("sentence\tlabel\ngood\t2\n", "file, line 2");
  refused("sentence\tlabel\ngood\t1\t1\n", "file, line 2");
  refused("sentence\tlabel\n \t1\n", "file, line 2");
  refused("sentence\tlabel\n\ngood\t1\n", "file, line 2");
  const auto words = [](int count) {
    std::string text = "sentence\tlabel\n";
    for (int i = 0; i < count; ++i) text += "a ";
    return text + "\t1\n";
  };
  CHECK(parse_labelled(words(64), "file").size() == 1);
  refused(words(65), "of at most 64 words");
  refused(kPairs, "file holds no pairs");
  refused(kPairs + "0\tWho?\tThey.\tentailment\n1\tWho?\tThey.\tyes\n", "file, line 3");
  refused(kPairs + "0\tWho?\tentailment\n", "file, line 2");
  refused(kPairs + "0\t\tThey.\tentailment\n", "file, line 2");
  refused(kPairs + "0\tWho?\tThey.\tentailment\tentailment\n", "file, line 2");
}

TEST_CASE("no phrase to train on contains a held-out one or is a part of it") {
  const std::vector<LabelledText> phrases = {
      {"a b c d", 1}, {"b c", 1}, {"bc", 0},  {"x a b c d y", 1},
      {"a c", 0},     {"d", 1},   {"e f", 0}, {"c d e", 0},
  };
  const LabelledSplit split = split_phrases(phrases, 1, 4);
  REQUIRE(split.held_out.size() == 1);
  CHECK(split.held_out[0].text == "a b c d");
  std::set<std::string> left;
  for (const LabelledText& phrase : split.training) left.insert(phrase.text);
  CHECK(left == std::set<std::string>{"bc", "a c", "e f", "c d e"});
}

TEST_CASE("held-out phrases are long, and spread over the file") {
  std::vector<LabelledText> phrases;
  for (int n = 0; n < 100; ++n)
    phrases.push_back({n % 2 ? "w" + std::to_string(n) : "w" + std::to_string(n) + " word", n % 2});
  const LabelledSplit split = split_phrases(phrases, 5, 2);
  std::vector<std::string> texts;
  for (const LabelledText& phrase : split.held_out) texts.push_back(phrase.text);
  CHECK(texts == std::vector<std::string>{"w0 word", "w20 word", "w40 word", "w60 word", "w80 word"});
  CHECK_REFUSED(split_phrases(phrases, 51, 2), "too few");
  CHECK_REFUSED(split_phrases({{"one", 1}}, 1, 1), "held-out texts with --valid");
}

TEST_CASE("pairs are read with their labels") {
  const auto pairs = parse_labelled(
      kPairs + "0\tWho?\tThey did.\tentailment\r\n7\tWhy \"so\"?\tNo.\tnot_entailment", "file");
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].text == "Who?\tThey did.");
  CHECK(pairs[0].label == 0);
  CHECK(pairs[1].text == "Why \"so\"?\tNo.");
  CHECK(pairs[1].label == 1);
}

TEST_CASE("no pair to train on has a held-out question or sentence") {
  const std::vector<LabelledText> pairs = {{"q1\ts1", 0}, {"q1\ts2", 1}, {"q2\ts1", 1},
                                           {"q2\ts2", 0}, {"s1\tq1", 0}, {"q3\ts3", 1}};
  const LabelledSplit split = split_pairs(pairs, 1);
  REQUIRE(split.held_out.size() == 1);
  CHECK(split.held_out[0].text == "q1\ts1");
  std::set<std::string> left;
  for (const LabelledText& pair : split.training) left.insert(pair.text);
  CHECK(left == std::set<std::string>{"q2\ts2", "s1\tq1", "q3\ts3"});
  CHECK_REFUSED(split_pairs(pairs, 6), "too few");
  CHECK_REFUSED(split_pairs({{"q\ts", 0}, {"q\tt", 1}}, 1), "held-out texts with --valid");
}

TEST_CASE("SST-2, QNLI and MRPC themselves" * doctest::test_suite("external")) {
  struct Published {
    const char *file, *first, *second;  // how the two texts of the first pair held out begin
    size_t held_out, least_training, texts;
  };
  for (const Published& published :
       {Published{"sst2-train.tsv", "", "", 1000, 40000, 67349},
        {"qnli-dev.tsv", "", "\t", 546, 4000, 5463},
        {"msr_paraphrase_train.txt", "Amrozi accused his brother", "\tReferring to him", 407, 0, 4076}}) {
    CAPTURE(published.file);
    const auto path = shared_data(message("glue/", published.file));
    if (!path) continue;
    const LabelledSplit split = read_labelled_split(*path);
    CHECK(split.held_out.size() == published.held_out);
    CHECK(split.held_out[0].text.starts_with(published.first));
    CHECK(contains(split.held_out[0].text, published.second));
    if (*published.first != '\0') CHECK(split.held_out[0].label == 1);
    CHECK(split.training.size() > published.least_training);
    CHECK(read_labelled_split(*path, *path).training.size() == published.texts);
  }
}

TEST_CASE("the heading says which file it is, and a tenth is held out") {
  const std::string path = path_of("labelled.tsv");
  std::string pairs = "index\tquestion\tsentence\tlabel\n", phrases = "sentence\tlabel\r\n";
  for (int n = 0; n < 20; ++n) {
    const std::string number = std::to_string(n);
    pairs += number + "\tq" + number + "\ts" + number + "\tentailment\n";
    phrases += number + " 2 3 4 5 6 7 8 9 10 11 12\t1\n";
  }
  write_file(path, pairs);
  CHECK(read_labelled_split(path).held_out.size() == 2);
  CHECK(read_labelled_split(path).training.size() == 18);
  CHECK(read_labelled_split(path).held_out[1].text == "q10\ts10");
  write_file(path, phrases);
  CHECK(read_labelled_split(path).held_out[1].text == "10 2 3 4 5 6 7 8 9 10 11 12");
  const std::string mrpc = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n";
  write_file(path, mrpc + "1\t7\t8\tOne.\tTwo.\n0\t9\t8\tThree.\tFour.\n");
  CHECK(read_labelled_split(path).held_out[0].text == "One.\tTwo.");
  CHECK(read_labelled_split(path).training[0].label == 0);
  write_file(path_of("valid.tsv"), mrpc + "0\t9\t8\tThree.\tFour.\n");
  const LabelledSplit given = read_labelled_split(path, path_of("valid.tsv"));
  CHECK(given.training.size() == 2);
  CHECK(given.held_out.size() == 1);
  CHECK(given.held_out[0].text == "Three.\tFour.");
  for (const std::string& other : {phrases, pairs}) {
    write_file(path_of("valid.tsv"), other);
    CHECK_REFUSED(read_labelled_split(path, path_of("valid.tsv")), "give two files of one kind");
  }
  write_file(path, mrpc + "1\t7\t8\tOne.\n");
  CHECK_REFUSED(read_labelled_split(path), "line 2: not 0 or 1");
  for (const char* other : {"", "text\tlabel\na\t1\n"}) {
    write_file(path, other);
    CHECK_REFUSED(read_labelled_split(path), "the heading is neither SST-2's");
  }
}

// A token a byte.
std::shared_ptr<const nn::Tokenizer> bytes() {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  return nn::alphabet_of(all);
}

const std::vector<LabelledText> kTraining = {{"ab", 0}, {"abb", 1}, {"bca", 0}};
const std::vector<LabelledText> kHeldOut = {{"aac", 1}, {"b", 0}};

TEST_CASE("the vocabulary is what enough training texts have; texts are filled up to the longest") {
  const LabelledTextData data(kTraining, kHeldOut, bytes(), 6, "letters", /*least_texts=*/2);
  // <s> 0, </s> 1, <unk> 2, then " ", a, b; c is in one text alone.
  CHECK(data.vocab() == 6);
  CHECK(data.classes() == 2);
  const Batch batch = data.validation(5);
  CHECK(batch.length == 6);
  CHECK(batch.tokens == std::vector<int>{0, 3, 4, 4, 2, 1, 0, 3, 5, 1, 1, 1});
  CHECK(batch.lengths == std::vector<int>{6, 4});
  CHECK(batch.targets == std::vector<int>{1, 0});
  CHECK(data.validation(1).sequences == 1);
}

TEST_CASE("a text longer than the context loses its end, not its last token") {
  const LabelledTextData data(kTraining, kHeldOut, bytes(), 4, "letters", /*least_texts=*/1);
  const Batch batch = data.validation(1);
  CHECK(batch.tokens == std::vector<int>{0, 3, 4, 1});
}

TEST_CASE("training texts alone are drawn, each with its label, and batches end with their longest") {
  const LabelledTextData data(kTraining, kHeldOut, bytes(), 6, "letters", /*least_texts=*/1);
  std::set<std::pair<std::vector<int>, int>> seen;
  std::set<int> lengths;
  TrainingRandom random(1);
  for (int i = 0; i < 50; ++i) {
    const Batch batch = data.draw(2, random);
    lengths.insert(batch.length);
    CHECK(batch.length == std::max(batch.lengths[0], batch.lengths[1]));
    const auto texts = batch.texts();
    for (int s = 0; s < 2; ++s) seen.insert({texts[s], batch.targets[s]});
  }
  CHECK(lengths == std::set<int>{5, 6});
  // Tokens from 3: " ", a, b, c.
  CHECK(seen == std::set<std::pair<std::vector<int>, int>>{
                    {{0, 3, 4, 5, 1}, 0}, {{0, 3, 4, 5, 5, 1}, 1}, {{0, 3, 5, 6, 4, 1}, 0}});
}

TEST_CASE("the description tells labels and tokens apart; what cannot be trained on is refused") {
  const auto described = [](std::vector<LabelledText> training) {
    return LabelledTextData(training, kHeldOut, bytes(), 64, "letters").description();
  };
  CHECK(described(kTraining) == described(kTraining));
  CHECK(described({{"ab", 1}, {"abb", 1}, {"bca", 0}}) != described(kTraining));
  CHECK(described({{"ba", 0}, {"abb", 1}, {"bca", 0}}) != described(kTraining));
  CHECK_THROWS_AS(described({}), Error);
  CHECK_THROWS_AS(described({{"a", -1}}), Error);
  CHECK_THROWS_AS(LabelledTextData(kTraining, {}, bytes(), 64, "none"), Error);
  CHECK_THROWS_AS(LabelledTextData({{"a", 0}}, {{"b", 0}}, bytes(), 64, "one class"), Error);
}

}  // namespace
}  // namespace psm::train
