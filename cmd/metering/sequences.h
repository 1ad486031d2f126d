// One further token of each of several sequences, in step (attention/encrypted/decode_sequences.h) and one after
// the other (decode.h).
#pragma once

#include <map>
#include <string>

#include "ckks/base/files/json.h"
#include "cmd/metering/metered.h"

namespace psm::cmd {

// A row for each number of sequences in step, and what one sequence takes by itself.
std::string sequences_text(const Machine&, const std::map<int, Metered>& in_step, const Metered& one);
// Their figures, and the least number of sequences that is faster in step: "crossover", 0 where none is.
Json sequences_json(const Machine&, const std::map<int, Metered>& in_step, const Metered& one);

}  // namespace psm::cmd
