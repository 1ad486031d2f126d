// The logits of a model on given inputs, for comparison with other programs.
#pragma once

#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/shape/examples.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

// {"examples": [{"tokens": [..], "trained": [[..], ..], "polynomial": [[..], ..]}, ..]}: a row of logits for
// each token, of a classifier one. No tokens of images, and "polynomial" where the model has that form. In
// fp32 (attention/batched/batched_model.h). Throws Error on an example that the model cannot read or has no
// finite logits for.
Json logits_json(const attention::Checkpoint& checkpoint, const attention::Examples& examples);

}  // namespace psm::cmd
