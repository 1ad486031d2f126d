// What fuzzing needs to know of a container (ckks/base/testing/fuzz.h): where its parts are and how its
// checksums are made.
#pragma once

#include "ckks/base/testing/fuzz.h"

namespace psm::wire {

// The fields of the header, and the fields and the ends of every record.
std::vector<size_t> container_marks(const std::string& file);

// Makes the checksums of header, records and end right, as far as the lengths lead, and mostly the count as
// well.
void repair_container(std::string& file, TrainingRandom& random);

}  // namespace psm::wire
