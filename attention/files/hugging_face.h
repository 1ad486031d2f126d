// Models in the files of Hugging Face's transformers: config.json and model.safetensors.
//
// Tensors have the names of stored_tensors.h. Tensors with another meaning than ours are converted:
//
//     RoBERTa's positions    a table with unused rows in front, which are dropped, and the one row of the
//                            table of token types, which every token gets, is added to all others
//     BERT's and RoBERTa's   classifier has tanh z = 2 sigmoid(2z) - 1, our pooler sigmoid (config.h): 2D, 2e, 2C and
//                            c - sum of each row of C
//     BERT's first files     call the parts of a norm gamma and beta
//     a tied unembedding     is copied from the embedding
//     ViT's patches          [d][channels][P][P] and tables of one batch lose or get these dimensions
//     sentence-transformers  average the tokens of a BERT or RoBERTa (1_Pooling/config.json): an embedding (config.h),
//                            or with `classes` a fresh classifier of the mean
//     a model without head   gets the family's name in front of its tensors, as one with a head has it
//
// Left out: buffers of some versions (causal masks, rotary frequencies, position numbers), heads for masked words and
// next sentences, and the pooler of pre-training, which only BERT's classifier uses. A BERT, RoBERTa or ViT without a
// classifier, or with another number of classes than requested, gets a fresh one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/shape/examples.h"
#include "attention/shape/weights.h"

namespace psm::attention {

struct ImportedModel {
  ModelWeights weights;
  std::vector<std::string> ignored;  // tensors that are not part of the model
  std::vector<std::string> changed;  // for people: what was converted, in a few words each
  std::optional<PatchGrid> images;   // what a ViT reads
  // RoBERTa: transformers' padding token, which has no position.
  std::optional<int> padding;
};

struct FreshHead {
  std::optional<int> classes;  // none: those of the file, or 2
  bool mean_pooling = false;   // as sentence-transformers have it
  uint64_t seed = 1;
};

// The folder has config.json and model.safetensors, or its parts, as model.safetensors.index.json lists them. Throws
// psm::Error on files that are missing, damaged, hostile or of another kind of model, and names missing and unknown
// tensors. Takes the memory of the values in fp32 and of one tensor.
ImportedModel read_hugging_face(const std::string& folder, const FreshHead& head = {});

// Writes both files into a folder, which is made if it is missing, so that transformers reads the same model. Each is
// written whole or not at all. `images`: for a ViT. Throws psm::Error on a model that transformers does not have
// (hugging_face_config.h).
void write_hugging_face(const std::string& folder, const ModelWeights& weights,
                        const std::optional<PatchGrid>& images = {});

}  // namespace psm::attention
