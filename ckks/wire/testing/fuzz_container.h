// Containers for fuzzing (ckks/base/testing/fuzz.h): the places of their parts, and the repair of their checksums.
#pragma once

#include "ckks/base/testing/fuzz.h"

namespace psm::wire {

// The fields of the header, and the fields and the ends of every record.
std::vector<size_t> container_marks(const std::string& file);

// Corrects the checksums of header, records and end, as far as the lengths lead, and mostly the count too.
void repair_container(std::string& file, TrainingRandom& random);

}  // namespace psm::wire
