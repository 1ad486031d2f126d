// The parameters of a model as tensors of a file, with the names and layouts of Hugging Face's models.
//
//     family     models that have    names begin with        query, key and value
//     vit        patches             vit., classifier.       a tensor each
//     bert       post-norm blocks    bert., classifier.      a tensor each
//                and token types
//     roberta    post-norm blocks    roberta., classifier.   a tensor each
//     llama      SwiGLU              model., lm_head.        a tensor each
//     gpt2       learned positions   transformer., lm_head.  one tensor, the three parts one after the other
//     gpt-neox   none of these       gpt_neox., embed_out.   one tensor, a head's three parts together
//
// Matrices of GPT-2's blocks are stored transposed, [in][out].
//
// Values are those of ModelWeights. If a name has another meaning in Hugging Face's models, hugging_face.h
// says so and converts. A parameter that the family's models do not have is called "psm." and its name in
// weights.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/shape/weights.h"
#include "nn/files/safetensors.h"

namespace psm::attention {

std::string_view family_of(const ModelConfig& config);

// Returns what the file calls a parameter of weights.h. Not for query, key and value where they share a tensor.
std::string stored_name(const ModelConfig& config, const std::string& parameter);

std::vector<nn::NamedTensor> stored_tensors(ModelWeights weights);

// Moves the file's values into `weights`, which has only its configuration yet. Throws psm::Error of one line
// that names `path` and the tensors that are missing, unknown, or of another shape or type.
void take_stored_tensors(nn::Safetensors& file, ModelWeights& weights, const std::string& path);

// The same for a file whose tensors are read when they are asked for: reads all but what layers have besides norms. The
// result reads a layer.
LayerReader take_stored_ends(nn::Safetensors file, ModelWeights& weights, const std::string& path);

}  // namespace psm::attention
