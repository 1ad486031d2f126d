// Classified images as a task for a model of patches (ViT): MNIST's.
//
// An image of H x W grey values g in 0 .. 255 becomes (H / P)(W / P) patches of P x P numbers g / 127.5 - 1,
// row by row of patches, each row by row. Every `held_out_every`-th image is held out; the others are
// training examples, drawn uniformly and moved by up to `shift` pixels in both directions (new pixels are 0),
// as there are few of them.
#pragma once

#include <string>

#include "train/data/data.h"
#include "train/data/idx.h"

namespace psm::train {

// How an image is cut: calls visit(row, column) for each pixel, patch by patch.
struct PatchGrid {
  int height = 0, width = 0, patch = 0;
  template <typename Visit>
  void for_each_pixel(const Visit& visit) const {
    for (int top = 0; top < height; top += patch)
      for (int left = 0; left < width; left += patch)
        for (int i = 0; i < patch * patch; ++i) visit(top + i / patch, left + i % patch);
  }
};

// What a model reads of a grey value.
inline float patch_input(int grey) { return static_cast<float>(grey) / 127.5f - 1.0f; }

struct ImageOptions {
  int patch = 7;
  int shift = 2;
  int held_out_every = 10;
};

class ImageData final : public DataSource {
 public:
  // images: [count][H][W]; labels: [count]. Throws psm::Error, which begins with `what`, unless both are of
  // these shapes and lengths, patches fit the images, and there are two classes and a held-out image at
  // least.
  ImageData(IdxArray images, IdxArray labels, const ImageOptions& options, const std::string& what);
  // Reads IDX files, gzip's or plain.
  static ImageData from_files(const std::string& images, const std::string& labels,
                              const ImageOptions& options);

  int vocab() const override { return 0; }
  int context() const override { return patches_down_ * patches_across_ + 1; }
  int classes() const override { return classes_; }
  int patch_inputs() const override { return options_.patch * options_.patch; }
  std::string description() const override { return description_; }
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  // The first of the held-out images, not moved; fewer if there are fewer.
  Batch validation(int sequences) const override;

  PatchGrid grid() const {
    return {static_cast<int>(images_.shape[1]), static_cast<int>(images_.shape[2]), options_.patch};
  }
  size_t training_images() const { return images_.shape[0] - held_out_images(); }
  size_t held_out_images() const { return images_.shape[0] / held_out_every(); }

 private:
  size_t held_out_every() const { return static_cast<size_t>(options_.held_out_every); }
  void start(int sequences, Batch& batch) const;
  // Writes image `index`, moved, as sequence `s`.
  void write(size_t index, int down, int across, int s, Batch& batch) const;

  IdxArray images_, labels_;
  ImageOptions options_;
  int patches_down_ = 0, patches_across_ = 0, classes_ = 0;
  std::string description_;
};

}  // namespace psm::train
