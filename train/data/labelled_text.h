// Texts with their classes, and files of them: SST-2's (train/data/sst2.h) or QNLI's (train/data/qnli.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace psm::train {

struct LabelledText {
  std::string text;  // two texts with a tab between them, or one
  int label = 0;
};

struct LabelledSplit {
  std::vector<LabelledText> training, held_out;
  size_t dropped = 0;  // neither: they share words with a held-out text
};

// The bytes of a file of at most 256 MiB, gzip's or plain.
std::string read_labelled_file(const std::string& path);

// A file of either kind, as its heading says, and of it a tenth held out, or a thousand texts if that is less;
// of SST-2 phrases of 12 words or more. Throws psm::Error that names the file on another one.
LabelledSplit read_labelled_split(const std::string& path);

}  // namespace psm::train
