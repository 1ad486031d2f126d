// For tests of classifiers: files of texts and of images that a small model learns in a few steps.
#pragma once

#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"

namespace psm::cmd {

// Phrases of twelve words and more, all good or all bad.
inline std::string phrases() {
  std::string text = "sentence\tlabel\n";
  TrainingRandom random(4);
  for (int n = 0; n < 120; ++n) {
    for (int w = 0; w < 12 + n % 3; ++w)
      text += std::string(n % 2 ? "g" : "b") + static_cast<char>('0' + random.integer(10)) + " ";
    text += std::to_string(n) + "\t" + std::to_string(n % 2) + "\n";
  }
  return text;
}

// Pairs of texts, alike where both are of the same letter, in MRPC's form or in QNLI's; and a vocabulary of WordPiece.
inline std::string text_pairs(bool mrpc) {
  std::string text =
      mrpc ? "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" : "index\tquestion\tsentence\tlabel\n";
  for (int n = 0; n < 60; ++n) {
    const bool one = n % 4 < 2, two = n % 2 == 1;
    text += mrpc ? message(one == two ? "1\t" : "0\t", n, "\t", n, "\t", one ? "A" : "B", n, ".\t",
                           two ? "a" : "b", n, "\n")
                 : message(n, "\t", one ? "a" : "b", n, " ?\t", two ? "a" : "b", n, " .\t",
                           one == two ? "entailment" : "not_entailment", "\n");
  }
  return text;
}
inline constexpr const char* kPieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n.\n##0\n##1\n##2\n##3\n##4\n##5\n##6\n##7\n##8\n##9\n";

// Images of 28 x 28 in two classes: the left half is bright, or the right one.
inline void write_halves(const std::string& images_path, const std::string& labels_path) {
  constexpr int kImages = 40, kSide = 28;
  std::string images("\0\0\x08\x03\0\0\0\x28\0\0\0\x1c\0\0\0\x1c", 16), labels("\0\0\x08\x01\0\0\0\x28", 8);
  for (int n = 0; n < kImages; ++n) {
    labels += static_cast<char>(n % 2);
    for (int pixel = 0; pixel < kSide * kSide; ++pixel)
      images += static_cast<char>((pixel % kSide < kSide / 2) == (n % 2 == 0) ? 200 : 20 + n);
  }
  write_file(images_path, images);
  write_file(labels_path, labels);
}

}  // namespace psm::cmd
