// Table glue: classification of sentences, an encoder with softmax and its polynomial form.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/classifier_study.h"
#include "nn/text/files/tokenizer_file.h"
#include "train/data/labelled_text.h"
#include "train/data/labelled_text_data.h"

namespace psm::cmd {
namespace {

constexpr int kContext = 48, kPairContext = 96, kLayers = 2, kWidth = 64, kHeads = 4, kPower = 6, kBatch = 16;
// Share of the minutes; a step on pairs takes twice as long, and there are few of them.
constexpr double kPairShare = 0.3;

attention::ModelConfig model_of(const train::LabelledTextData& texts) {
  attention::ModelConfig model = attention::preset("roberta");
  model.vocab = texts.vocab();
  model.context = texts.context();
  model.classes = texts.classes();
  model.layers = kLayers, model.width = kWidth, model.heads = kHeads, model.ffn = 4 * kWidth;
  model.power = kPower;
  return model;
}

void run(StudyContext& context, StudyResult& result) {
  const train::LabelledSplit phrases = train::read_labelled_split(context.data_file("glue/sst2-train.tsv"));
  const train::LabelledSplit pairs = train::read_labelled_split(context.data_file("glue/qnli-dev.tsv"));
  const auto tokenizer = nn::load_tokenizer(context.data_file("tokenizer/gpt2-encoder.json"),
                                            context.data_file("tokenizer/gpt2-vocab.bpe"));
  const train::LabelledTextData texts(phrases.training, phrases.held_out, tokenizer, {.context = kContext},
                                      "SST-2"),
      both(pairs.training, pairs.held_out, tokenizer, {.context = kPairContext}, "QNLI");
  compare_classifiers(context,
                      {.name = "sst2",
                       .source = texts,
                       .model = model_of(texts),
                       .batch = kBatch,
                       .range_losses = train::text_range_losses(),
                       .share = 1 - kPairShare},
                      result);
  compare_classifiers(context,
                      {.name = "qnli",
                       .source = both,
                       .model = model_of(both),
                       .batch = kBatch,
                       .range_losses = train::text_range_losses(),
                       .share = kPairShare},
                      result);

  Table paper({"in the paper, % right", "SST-2", "QNLI", "MNLI"});
  paper.row({"RoBERTa-base", "94.80", "92.80", "87.60"});
  paper.row({"its polynomial form", "93.35", "91.62", "86.93"});
  paper.row({"difference", "-1.45", "-1.18", "-0.67"});
  paper.row({"Nexus (BERT)", "92.11", "89.90", "-"});
  result.table("Table glue", paper);
  result.note(message("Held out: ", phrases.held_out.size(), " phrases of ", train::kLeastWords,
                      " words or more; ", phrases.dropped,
                      " that share words with one of them are in neither part, so ", texts.training_texts(),
                      " of SST-2's 67,349 phrases train, in ", texts.vocab(), " of GPT-2's tokens, ",
                      format("%.1f", texts.mean_tokens()), " a phrase in the mean."));
  result.note(message("Of QNLI ", both.training_texts(), " pairs train, ", pairs.held_out.size(),
                      " are held out, and ", pairs.dropped,
                      " that share a question or a sentence with one of them are in neither part."));
}

}  // namespace

Experiment sentences_experiment() {
  return {
      .name = "sentences",
      .title =
          "Sentence classification: an encoder with softmax, PowerSoftmax and scaled ReLU, to its "
          "polynomial form",
      .scaled_down =
          "SST-2 and QNLI from random weights, instead of fine-tuning RoBERTa-base (125M parameters, "
          "pre-trained on "
          "160 GB of text): 2 post-norm layers of d = 64 with learned positions and the head's sigmoid, "
          "p = 6 as "
          "in the paper. SST-2's own validation file is not at hand, a part of its training file is held "
          "out; of QNLI the dev file alone is at hand, 5,463 pairs, which teach a model of random weights "
          "little. MNLI is left out.",
      .run = run};
}

}  // namespace psm::cmd
