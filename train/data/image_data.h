// Classified images as a task for a model of patches (ViT): grey ones such as MNIST's, or CIFAR-10's.
//
// An image is cut into patches as PatchGrid says. Every `held_out_every`-th image is held out. The others are training
// examples. They are drawn uniformly and, because there are few, moved by up to `shift` pixels in both directions (new
// pixels are 0).
#pragma once

#include <string>
#include <string_view>

#include "attention/shape/examples.h"
#include "nn/inputs/idx.h"
#include "train/data/data.h"

namespace psm::train {

struct ImageOptions {
  int patch = 0;     // 0: a quarter of the images' height
  int channels = 1;  // of the model, each with the values of grey images; coloured ones have their own number
  int shift = 2;
  int held_out_every = 10;
};

// CIFAR-10's binary files: records of 3,073 bytes, nothing before, between or after them.
//
//     byte 0           the class, 0 to 9
//     bytes 1 to 3072  an image of 32 x 32 pixels: all red values row by row, then the green ones, then the blue ones
//
// Source: the description on https://www.cs.toronto.edu/~kriz/cifar.html.
struct LabelledImages {
  nn::IdxArray images, labels;  // of shapes [n][3][32][32] and [n]
};

// Throws psm::Error that begins with `what` unless the bytes are one to 100,000 such records.
LabelledImages parse_cifar10(std::string_view bytes, const std::string& what);

class ImageData final : public DataSource {
 public:
  // images: [count][H][W] or [count][channels][H][W]; labels: [count]. Throws psm::Error, which begins with `what`,
  // unless both have these shapes, patches fit the images, and there are at least two classes and one held-out image.
  ImageData(nn::IdxArray images, nn::IdxArray labels, const ImageOptions& options, const std::string& what);
  // Reads IDX files, gzip's or plain. Without labels it reads a file of CIFAR-10.
  static ImageData from_files(const std::string& images, const std::string& labels,
                              const ImageOptions& options);

  int vocab() const override { return 0; }
  int context() const override { return grid().patches() + 1; }
  int classes() const override { return classes_; }
  int patch_inputs() const override { return grid().patch_inputs(); }
  std::string description() const override { return description_; }
  Batch draw(int sequences, TrainingRandom& random) const override;
  // The first of the held-out images, not moved; fewer if there are fewer.
  Batch validation(int sequences) const override;

  attention::PatchGrid grid() const {
    const auto last = images_.shape.end();
    return {static_cast<int>(last[-2]), static_cast<int>(last[-1]), options_.patch, options_.channels};
  }
  size_t training_images() const { return images_.shape[0] - held_out_images(); }
  size_t held_out_images() const { return images_.shape[0] / held_out_every(); }

 private:
  size_t held_out_every() const { return static_cast<size_t>(options_.held_out_every); }
  Batch blank(int sequences) const;
  // Inputs of a batch per image.
  size_t inputs() const {
    return static_cast<size_t>(grid().patches()) * static_cast<size_t>(patch_inputs());
  }
  // Writes image `index`, moved, as sequence `s`.
  void write(size_t index, int down, int across, int s, Batch& batch) const;

  nn::IdxArray images_, labels_;
  ImageOptions options_;
  int classes_ = 0;
  std::string description_;
};

}  // namespace psm::train
