#include "train/data/image_data.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "nn/inputs/gzip_file.h"

namespace psm::train {
namespace {

constexpr size_t kChannels = 3, kSide = 32, kPixels = kChannels * kSide * kSide, kRecord = 1 + kPixels;
constexpr size_t kMostImages = 100'000;
constexpr unsigned char kClasses = 10;

}  // namespace

LabelledImages parse_cifar10(std::string_view bytes, const std::string& what) {
  const size_t count = bytes.size() / kRecord;
  if (bytes.empty() || bytes.size() % kRecord != 0 || count > kMostImages)
    throw Error(message(what, " has ", bytes.size(), " bytes, but CIFAR-10's files have ", kRecord,
                        " for each of up to ", kMostImages,
                        " images; for MNIST's format give --labels, too"));
  LabelledImages read{{{count, kChannels, kSide, kSide}, {}}, {{count}, {}}};
  read.images.entries.reserve(count * kPixels);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view record = bytes.substr(i * kRecord, kRecord);
    const auto label = static_cast<unsigned char>(record.front());
    if (label >= kClasses)
      throw Error(message(what, ": image ", i, " is of class ", int{label}, ", and CIFAR-10 has 0 to 9"));
    read.labels.entries.push_back(label);
    read.images.entries.insert(read.images.entries.end(), record.begin() + 1, record.end());
  }
  return read;
}

ImageData::ImageData(nn::IdxArray images, nn::IdxArray labels, const ImageOptions& options,
                     const std::string& what)
    : images_(std::move(images)), labels_(std::move(labels)), options_(options) {
  PSM_CHECK(options.patch >= 0 && options.channels >= 1 && options.shift >= 0 && options.held_out_every >= 2,
            options.patch, " ", options.shift, " ", options.held_out_every);
  const size_t dimensions = images_.shape.size();
  if (dimensions != 3 && dimensions != 4)
    throw Error(message(what, ": images have 3 dimensions, or 4 with colours, not ", dimensions,
                        "; give the images with --images, their labels with --labels"));
  if (dimensions == 4) {
    if (options.channels != 1 && options.channels != static_cast<int>(images_.shape[1]))
      throw Error(message(what, ": images of ", images_.shape[1], " channels are not what a model of ",
                          options.channels, " reads"));
    options_.channels = static_cast<int>(images_.shape[1]);
  }
  if (labels_.shape.size() != 1 || labels_.shape[0] != images_.shape[0])
    throw Error(message(what, ": ", images_.shape[0],
                        " images need as many labels in one dimension; give the labels of the same set"));
  const size_t height = images_.shape[dimensions - 2], width = images_.shape[dimensions - 1];
  if (options.patch == 0) options_.patch = std::max(static_cast<int>(height / 4), 1);
  const auto patch = static_cast<size_t>(options_.patch);
  if (height % patch != 0 || width % patch != 0)
    throw Error(message(what, ": images of ", height, " x ", width, " are not whole patches of ", patch,
                        " x ", patch, "; give a patch that divides them"));
  classes_ = *std::max_element(labels_.entries.begin(), labels_.entries.end()) + 1;
  if (classes_ < 2 || held_out_images() == 0)
    throw Error(message(what, ": ", images_.shape[0], " images of ", classes_,
                        " classes are too few to train on and to hold out some"));
  description_ = message(images_.shape[0], " images of ", height, " x ", width, ", patch ", patch,
                         options_.channels == 1 ? "" : message(" of ", options_.channels, " channels"),
                         ", shift ", options.shift, ", held out 1 of ", options.held_out_every,
                         ", checksums ", checksum64(images_.entries.data(), images_.entries.size()), " ",
                         checksum64(labels_.entries.data(), labels_.entries.size()));
}

ImageData ImageData::from_files(const std::string& images, const std::string& labels,
                                const ImageOptions& options) {
  const auto read = [](const std::string& path) {
    return nn::parse_idx(nn::read_maybe_gzip(path, nn::kMaxIdxBytes), path);
  };
  if (!labels.empty()) return ImageData(read(images), read(labels), options, images + " with " + labels);
  LabelledImages both = parse_cifar10(nn::read_maybe_gzip(images, nn::kMaxIdxBytes), images);
  return ImageData(std::move(both.images), std::move(both.labels), options, images);
}

Batch ImageData::blank(int sequences) const {
  Batch batch;
  batch.sequences = sequences, batch.length = context();
  batch.targets.resize(static_cast<size_t>(sequences));
  batch.patches.resize(static_cast<size_t>(sequences) * inputs());
  return batch;
}

void ImageData::write(size_t index, int down, int across, int s, Batch& batch) const {
  const int height = grid().height, width = grid().width;
  float* out = batch.patches.data() + static_cast<size_t>(s) * inputs();
  grid().for_each_pixel([&](int channel, int to_row, int to_column) {
    const int row = to_row - down, column = to_column - across;
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    *out++ = attention::patch_input(inside ? nn::pixel(images_, index, channel, row, column) : 0);
  });
  batch.targets[s] = labels_.entries[index];
}

Batch ImageData::draw(int sequences, TrainingRandom& random) const {
  Batch batch = blank(sequences);
  const auto moves = static_cast<uint64_t>(2 * options_.shift + 1);
  for (int s = 0; s < sequences; ++s) {
    // Held out is the last image of every `held_out_every`; the others, numbered without those:
    const size_t number = random.integer(training_images());
    const size_t index = number + number / (held_out_every() - 1);
    const int down = static_cast<int>(random.integer(moves)) - options_.shift;
    const int across = static_cast<int>(random.integer(moves)) - options_.shift;
    write(index, down, across, s, batch);
  }
  return batch;
}

Batch ImageData::validation(int sequences) const {
  Batch batch = blank(std::min(sequences, static_cast<int>(held_out_images())));
  for (int s = 0; s < batch.sequences; ++s)
    write((static_cast<size_t>(s) + 1) * held_out_every() - 1, 0, 0, s, batch);
  return batch;
}

}  // namespace psm::train
