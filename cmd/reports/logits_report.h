// The logits of a model on given inputs, for comparison with other programs.
#pragma once

#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/shape/examples.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

// {"examples": [{"tokens": [..], "trained": [[..], ..], "polynomial": [[..], ..]}, ..]}: a row of logits for
// each token, or one for a classifier. Images have no "tokens"; "polynomial" is there if the model has that
// form. In fp32 (attention/batched/batched_model.h). Throws Error on an example that the model cannot read or
// whose logits are not finite.
Json logits_json(const attention::Checkpoint& checkpoint, const attention::Examples& examples);

}  // namespace psm::cmd
