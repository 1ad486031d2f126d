// Texts with their classes, and GLUE's files of them, plain or compressed with gzip. Thread-safe.
//
// SST-2, film reviews, positive (1) or negative (0):
//
//     sentence <tab> label                   the heading
//     kids , spirit  <tab> 1                 one phrase a line, words apart by one space
//
// The phrases are the constituents of about 7,000 sentences (Socher et al., EMNLP 2013): one line is often a
// part of another. Constituents of one sentence contain each other or share nothing. So a split is fair if no
// training phrase contains a held-out one or is a part of it.
//
// QNLI, questions about texts of Wikipedia, each with one of their sentences. Does it hold the answer
// (entailment, 0) or not (not_entailment, 1)?
//
//     index <tab> question <tab> sentence <tab> label         the heading
//     0     <tab> What came .. ? <tab> As of .. <tab> entailment
//
// A question or a sentence may be in several lines.
//
// MRPC, pairs of sentences from the news. Do they say the same (1) or not (0)? It begins with a byte order mark.
//
//     Quality <tab> #1 ID <tab> #2 ID <tab> #1 String <tab> #2 String        the heading
//     1       <tab> 70287 <tab> 70297 <tab> Amrozi .. <tab> Referring to ..
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/tokenizer.h"
#include "train/data/data.h"

namespace psm::train {

struct LabelledText {
  std::string text;  // two texts with a tab between them, or one
  int label = 0;
};

struct LabelledSplit {
  std::vector<LabelledText> training, held_out;
};

// The parts of a line, or of a text, between its tabs: up to one more than any kind of file has.
std::vector<std::string_view> fields_of(std::string_view line);

// Parses a file of any kind, by its heading: texts in the file's order, phrases without spaces at their ends. Throws
// psm::Error that begins with `what` and names the line if the heading or a line has another form, or a text is empty.
std::vector<LabelledText> parse_labelled(std::string_view text, const std::string& what);

// Holds out `held_out` phrases of `least_words` words or more, spread evenly over the file. Short fragments
// are not held out, because nobody classifies them. Throws psm::Error if there are fewer such phrases, or if
// nothing to train on remains.
LabelledSplit split_phrases(const std::vector<LabelledText>& phrases, size_t held_out, size_t least_words);
// Holds out `held_out` pairs, spread evenly over the file. No training pair has the first or the second text of one
// of them. Throws like split_phrases.
LabelledSplit split_pairs(const std::vector<LabelledText>& pairs, size_t held_out);

// Reads a file of any kind, by its heading, and holds out a tenth of it, or a thousand texts if that is
// less; for SST-2 phrases of kLeastWords or more. With `valid`, that file's texts are held out, and none is dropped.
// Throws psm::Error that names the file if it is of another kind or has more than 256 MiB, and unless both files are
// of one kind.
inline constexpr size_t kLeastWords = 12;
LabelledSplit read_labelled_split(const std::string& path, const std::string& valid = {});

// Classified texts as a task for an encoder (RoBERTa), in tokens of a tokenizer.
//
// Texts, or pairs with a tab between them, are encoded and cut to the context as in nn/text/sentences.h. A
// tokenizer that can enclose texts (RoBERTa's, or a model's own) stays as it is. From another one, tokens are
// kept that occur in at least `least_texts` training texts (nn/text/bpe/bpe_spec.h), because a model
// that begins with random weights learns nothing about the others. A batch is as long as its longest text;
// shorter ones are filled up with </s>.
class LabelledTextData final : public DataSource {
 public:
  // `context`: tokens, <s> and </s> among them. Throws psm::Error if a text cannot be encoded, if a label is negative,
  // and unless there are two classes, training texts and held-out texts. The description begins with `origin`.
  // `least_texts`: how many training texts must have a token for the vocabulary to keep it, where `tokenizer` encloses
  // no texts.
  LabelledTextData(const std::vector<LabelledText>& training, const std::vector<LabelledText>& held_out,
                   std::shared_ptr<const nn::Tokenizer> tokenizer, int context, const std::string& origin,
                   int least_texts = 3);

  int vocab() const override { return tokenizer_->vocab(); }
  int context() const override { return context_; }
  int classes() const override { return classes_; }
  std::string description() const override { return description_; }
  // Draws uniformly.
  Batch draw(int sequences, TrainingRandom& random) const override;
  // The first of the held-out texts; fewer if there are fewer.
  Batch validation(int sequences) const override;

  const std::shared_ptr<const nn::Tokenizer>& tokenizer() const { return tokenizer_; }

 private:
  struct Text {
    std::vector<int> tokens;
    int label;
  };

  Batch batch_of(const std::vector<const Text*>& texts) const;

  int context_, classes_ = 0;
  std::shared_ptr<const nn::Tokenizer> tokenizer_;
  std::vector<Text> training_, held_out_;
  std::string description_;
};

}  // namespace psm::train
