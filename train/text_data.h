// Real text as a language-modelling task over characters (bytes): every position predicts the next byte.
//
// The alphabet is the set of bytes that occur, in order; token i is its i-th byte. What is held out, whole,
// is the last part of the text or a second text: training windows never reach into it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/data.h"

namespace psm {

class Alphabet {
 public:
  Alphabet() = default;
  // The distinct bytes of a text, in order.
  explicit Alphabet(std::string_view text);
  // From the form that to_string writes; throws psm::Error that begins with `what` if it is none.
  static Alphabet from_string(const std::string& text, const std::string& what);

  int size() const { return static_cast<int>(bytes_.size()); }
  // Throws psm::Error naming the first byte that the alphabet lacks.
  std::vector<int> encode(std::string_view text) const;
  std::string decode(std::span<const int> tokens) const;
  // Two hexadecimal digits a byte: what checkpoints keep (note "alphabet").
  std::string to_string() const;
  bool operator==(const Alphabet&) const = default;

 private:
  std::string bytes_;
  std::array<int, 256> token_{};  // -1: not in the alphabet

  void index();
};

struct TextOptions {
  int context = 64;
  double held_out = 0.1;  // the last part of the text; not used where a second text is held out
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

class TextData final : public DataSource {
 public:
  // Throws psm::Error if the text is too short for one training and one held-out window.
  TextData(std::string_view text, const TextOptions& options);
  // Trains on the one text and holds out the other; the alphabet is that of both.
  TextData(std::string_view training, std::string_view held_out, const TextOptions& options);
  // Read the files; throw psm::Error if that fails.
  static TextData from_file(const std::string& path, const TextOptions& options);
  static TextData from_files(const std::string& training, const std::string& held_out,
                             const TextOptions& options);

  int vocab() const override { return alphabet_.size(); }
  int context() const override { return options_.context; }
  std::string description() const override { return description_; }
  // Windows at uniformly random places of the training part.
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  // Windows spread evenly over the held-out part; the fewer that fit without overlap.
  Batch validation(int sequences) const override;

  const Alphabet& alphabet() const { return alphabet_; }
  std::size_t training_tokens() const { return split_; }
  std::size_t held_out_tokens() const { return tokens_.size() - split_; }

 private:
  void check_lengths() const;
  void window(std::size_t begin, int sequence, Batch& batch) const;

  TextOptions options_;
  Alphabet alphabet_;
  std::vector<int> tokens_;  // of training, then those held out
  std::size_t split_ = 0;
  std::string description_;
};

}  // namespace psm
