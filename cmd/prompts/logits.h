// Rows of logits: one for each token of each prompt, or one for each prompt of a classifier.
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

double cosine(std::span<const double> a, std::span<const double> b);

// Appends the logits of a run's outputs, decrypted or the twin's, in the order of the examples.
void append_logits(const attention::ClientModel& model, const attention::SlotVectors& outputs,
                   const attention::Examples& examples, LogitRows& rows);

// Root mean square of the difference over all logits of `some` and the first rows of `all`; 0 if there are none.
double rms_difference(const LogitRows& some, const LogitRows& all);

// A file of decrypted logits, for their owner only, because they contain the error of the encryption. Reading
// throws Error if it is another kind of file, or belongs to another program.
void write_logits(const std::string& path, uint64_t program_id, LogitRows rows);
LogitRows read_logits(const std::string& path, uint64_t program_id);

}  // namespace psm::cmd
