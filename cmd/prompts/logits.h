// Rows of logits: one for each token of each prompt; of a classifier one for each prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/ends/client_model.h"

namespace psm::cmd {

using LogitRows = std::vector<std::vector<double>>;

// The place of the largest, of equal ones the first.
int argmax(std::span<const double> logits);

// From the outputs of a run, decrypted or the twin's; appended in the order of the examples.
void append_logits(const attention::ClientModel& model, const attention::SlotVectors& outputs,
                   const attention::Examples& examples, LogitRows& rows);

// Root mean square of the difference over all logits of `some`, the first rows of `all`; 0 of none.
double rms_difference(const LogitRows& some, const LogitRows& all);

// A file of decrypted logits, for their owner only: they carry the error of the encryption. Reading throws
// Error if it is no such file, or belongs to another program.
void write_logits(const std::string& path, uint64_t program_id, LogitRows rows);
LogitRows read_logits(const std::string& path, uint64_t program_id);

}  // namespace psm::cmd
