// The inputs of a model, any number of examples: sequences of tokens with lengths up to the context, or the
// patches of images. These are views; the caller keeps the data.
#pragma once

#include <span>
#include <vector>

namespace psm::attention {

// How an image becomes the patches that a ViT reads.
//
// H x W pixels of values g in 0 .. 255 become (H / P)(W / P) patches of channels x P x P numbers g / 127.5 - 1.
// Patches follow row by row, and each patch is channel by channel, row by row. A model of several channels
// gets a grey image's values in each, as transformers turns grey images into colours.

struct PatchGrid {
  int height = 0, width = 0, patch = 0, channels = 1;

  int patches() const { return height / patch * (width / patch); }
  int patch_inputs() const { return channels * patch * patch; }
  // Calls visit(channel, row, column) for each number, patch by patch.
  template <typename Visit>
  void for_each_pixel(const Visit& visit) const {
    for (int top = 0; top < height; top += patch)
      for (int left = 0; left < width; left += patch)
        for (int channel = 0; channel < channels; ++channel)
          for (int i = 0; i < patch * patch; ++i) visit(channel, top + i / patch, left + i % patch);
  }
};

// The number that a model reads for a value.
inline float patch_input(int grey) { return static_cast<float>(grey) / 127.5f - 1.0f; }

// The sizes that decide what a model can read, from a ModelConfig or a client's part of a model.
struct Readable {
  template <typename Model>
  Readable(const Model& model)
      : vocab(model.vocab),
        context(model.context),
        patch_inputs(model.patch_inputs),
        classes(model.classes) {}
  int vocab, context, patch_inputs, classes;
};

struct Examples {
  std::vector<std::span<const int>> texts;  // one of the two lists is empty
  std::vector<std::span<const float>> images;

  Examples() = default;
  Examples(std::span<const std::vector<int>> all) : texts(all.begin(), all.end()) {}
  Examples(std::span<const std::vector<float>> all) : images(all.begin(), all.end()) {}
  Examples(const std::vector<std::vector<int>>& all) : Examples(std::span(all)) {}
  Examples(const std::vector<std::vector<float>>& all) : Examples(std::span(all)) {}

  size_t size() const { return texts.size() + images.size(); }
  // The model's rows for one example: its tokens, or its patches and the class token.
  int length(const Readable& model, size_t example) const;
};

// Throws psm::Error if there are no tokens, more than its context, or one that is not in the vocabulary.
void require_readable(const Readable& model, std::span<const int> tokens);
// Throws psm::Error if the patches are not whole, if there are none or more than its context less one, or if
// a number is not finite.
void require_readable(const Readable& model, std::span<const float> patches);
// The same of all examples.
void require_readable(const Readable& model, const Examples& examples);

// Appends each token's type: 0 up to the first `separator`, 1 behind it.
void append_token_types(std::span<const int> text, int separator, std::vector<int>& types);

// Numbers in the longest prompt of a model: tokens, or the grey values of an image.
int longest_prompt(const Readable&);

}  // namespace psm::attention
