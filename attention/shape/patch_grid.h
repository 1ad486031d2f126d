// How an image becomes the patches that a ViT reads.
//
// H x W grey values g in 0 .. 255 become (H / P)(W / P) patches of channels x P x P numbers g / 127.5 - 1.
// Patches follow row by row, and each patch is channel by channel, row by row. A model of several channels
// gets the grey value in each, as transformers turns grey images into colours.
#pragma once

namespace psm::attention {

struct PatchGrid {
  int height = 0, width = 0, patch = 0, channels = 1;

  int patches() const { return height / patch * (width / patch); }
  int patch_inputs() const { return channels * patch * patch; }
  // Calls visit(row, column) for each number, patch by patch.
  template <typename Visit>
  void for_each_pixel(const Visit& visit) const {
    for (int top = 0; top < height; top += patch)
      for (int left = 0; left < width; left += patch)
        for (int channel = 0; channel < channels; ++channel)
          for (int i = 0; i < patch * patch; ++i) visit(top + i / patch, left + i % patch);
  }
};

// The number that a model reads for a grey value.
inline float patch_input(int grey) { return static_cast<float>(grey) / 127.5f - 1.0f; }

}  // namespace psm::attention
