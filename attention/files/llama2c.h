// Models in llama2.c's files (github.com/karpathy/llama2.c, version 0, the one that its run.c reads): Llama
// in fp32.
//
//     7 int32   dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; little-endian;
//               vocab_size is negative where the unembedding is a matrix of its own and ends the file
//     fp32      token embedding [vocab][dim]; each for all layers: attention's norms [dim], wq [dim][dim],
//               wk, wv [kv_dim][dim], wo [dim][dim]; the feed-forward part's norms [dim], w1 (gate)
//               [hidden][dim], w2 (down) [dim][hidden], w3 (up) [hidden][dim]; the last norm [dim]; then,
//               unused here and left out by some writers, cosines and sines of RoPE [seq_len][head_dim / 2]
//               each; the unembedding
//
// RoPE turns neighbouring pairs (2i, 2i + 1) there and (i, i + head_dim / 2) here. So the rows of each head
// of wq and wk are reordered, which does not change any score. norm_epsilon is 1e-5 and RoPE's base 10000, as
// in run.c.
#pragma once

#include "attention/shape/weights.h"
#include "ckks/base/files/byte_source.h"

namespace psm::attention {

// Throws psm::Error, before memory is reserved, unless the header's sizes make a model and the file has
// exactly that many bytes.
ModelWeights read_llama2c(ByteSource source);

}  // namespace psm::attention
