// Answers that may be shown to others: the deployment's worst-case errors, the noise that hides them, and the
// count of what was shared.
//
// The premise is the semi-honest server of the README: the bound is that of the program, and a server that
// returned something else voids it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckks/scheme/sharing/sharing_decryptor.h"
#include "cmd/deployment/client/sharing_record.h"
#include "cmd/deployment/deployment.h"

namespace psm::cmd {

// The largest absolute value of each input's slots, over all prompts: every token of the vocabulary is tried,
// and any two of its features may share a complex slot. Public, like the model.
std::map<std::string, double> input_sizes(const Deployment& deployment);

struct OutputFlooding {
  std::string output;  // its name in the program
  ckks::Flooding flooding;
};

// For each output of the program, in order. Throws Error where the precision does not suffice.
std::vector<OutputFlooding> plan_sharing(const Deployment& deployment, const ckks::SharingTerms& terms);

// Decrypts one answer after another, each under the flooding of its output, and counts all of them first.
// `names`: of the answers of one group, as their file lists them; throws Error unless they are the program's
// outputs in order, since the error of another result may be larger than what the flooding hides.
std::vector<std::vector<std::complex<double>>> share(const ckks::SharingDecryptor& decryptor,
                                                     SharingRecord& record, uint64_t limit,
                                                     std::span<const std::string> names,
                                                     std::span<const ckks::Ciphertext> answers,
                                                     std::span<const OutputFlooding> floodings);

}  // namespace psm::cmd
