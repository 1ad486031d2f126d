#include "train/data/image_data.h"

#include <algorithm>
#include <set>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/shared_data.h"

namespace psm::train {
namespace {

constexpr int kSide = 6, kCount = 20;

// Image n is black but for one pixel in its middle of value n + 1; its class is n % 3.
nn::IdxArray dots() {
  nn::IdxArray images{{kCount, kSide, kSide}, std::vector<uint8_t>(kCount * kSide * kSide)};
  for (int n = 0; n < kCount; ++n)
    images.entries[n * kSide * kSide + 2 * kSide + 2] = static_cast<uint8_t>(n + 1);
  return images;
}

nn::IdxArray classes() {
  nn::IdxArray labels{{kCount}, std::vector<uint8_t>(kCount)};
  for (int n = 0; n < kCount; ++n) labels.entries[n] = static_cast<uint8_t>(n % 3);
  return labels;
}

ImageData data(int shift) {
  return ImageData(dots(), classes(), {.patch = 3, .shift = shift, .held_out_every = 5}, "dots");
}

// The number of the image in a batch, by its one bright pixel, and where that stands.
std::pair<int, int> found(const Batch& batch, int s) {
  const std::span patches =
      std::span(batch.patches).subspan(static_cast<size_t>(s) * kSide * kSide, kSide * kSide);
  const auto brightest = std::max_element(patches.begin(), patches.end());
  return {static_cast<int>(std::lround((*brightest + 1) * 127.5)) - 1,
          static_cast<int>(brightest - patches.begin())};
}

TEST_CASE("an image is cut into patches, row by row, black is -1") {
  const Batch batch = data(0).validation(1);
  CHECK(batch.length == 5);
  REQUIRE(batch.patches.size() == kSide * kSide);
  // The pixel in row 2, column 2 is the last of the first patch; held out first is image 4.
  CHECK(found(batch, 0) == std::pair(4, 8));
  CHECK(batch.patches[8] == doctest::Approx(5 / 127.5 - 1));
  CHECK(std::count(batch.patches.begin(), batch.patches.end(), -1.0f) == kSide * kSide - 1);
}

TEST_CASE("every fifth image is held out, the others are drawn, all with their labels") {
  const ImageData images = data(0);
  CHECK(images.training_images() == 16);
  CHECK(images.classes() == 3);
  std::set<int> held_out, drawn;
  const Batch validation = images.validation(100);
  CHECK(validation.sequences == 4);
  for (int s = 0; s < validation.sequences; ++s) {
    held_out.insert(found(validation, s).first);
    CHECK(validation.targets[s] == found(validation, s).first % 3);
  }
  CHECK(held_out == std::set<int>{4, 9, 14, 19});
  TrainingRandom random(1);
  const Batch batch = images.draw(400, random);
  for (int s = 0; s < 400; ++s) {
    drawn.insert(found(batch, s).first);
    CHECK(batch.targets[s] == found(batch, s).first % 3);
  }
  CHECK(drawn.size() == 16);
  for (const int image : held_out) CHECK(drawn.count(image) == 0);
}

TEST_CASE("training images are moved by up to the shift in both directions") {
  std::set<int> places;
  TrainingRandom random(1);
  const Batch batch = data(1).draw(400, random);
  for (int s = 0; s < 400; ++s) places.insert(found(batch, s).second);
  CHECK(places.size() == 9);
}

TEST_CASE("an image of CIFAR-10 keeps its colours, patch by patch, wherever it is moved") {
  std::string file;
  for (int n = 0; n < 4; ++n) {
    file += static_cast<char>(n % 2);
    for (const int colour : {10, 20, 30}) file += std::string(32 * 32, static_cast<char>(colour + n));
  }
  const std::string path = path_of("cifar.bin");
  write_file(path, file);
  const ImageData images = ImageData::from_files(path, "", {.patch = 16, .shift = 0, .held_out_every = 2});
  CHECK(images.patch_inputs() == 3 * 16 * 16);
  CHECK(images.context() == 5);
  const Batch batch = images.validation(1);  // image 1
  CHECK(batch.targets[0] == 1);
  for (size_t i = 0; i < batch.patches.size(); ++i)
    CHECK(batch.patches[i] == attention::patch_input(11 + 10 * static_cast<int>(i / 256 % 3)));
  CHECK_REFUSED(ImageData::from_files(path, "", {.patch = 16, .channels = 2}),
                "3 channels are not what a model of 2 reads");
}

TEST_CASE("CIFAR-10's records are read, and files of others are refused") {
  const std::string record =
      "\x07" + std::string(1024, 'r') + std::string(1024, 'g') + std::string(1024, 'b');
  const LabelledImages read = parse_cifar10(record + "\x02" + record.substr(1), "images");
  CHECK(read.images.shape == std::vector<size_t>{2, 3, 32, 32});
  CHECK(read.images.entries[2 * 1024] == 'b');
  CHECK(read.images.entries[3 * 1024] == 'r');
  CHECK(read.labels.entries == std::vector<uint8_t>{7, 2});
  const auto refused = [](const std::string& bytes, const char* why) {
    CHECK_THROWS_WITH_AS(parse_cifar10(bytes, "the file"), why, Error);
  };
  const char* length =
      " bytes, but CIFAR-10's files have 3073 for each of up to 100000 images; for MNIST's format give "
      "--labels, too";
  refused("", message("the file has 0", length).c_str());
  refused(record + "x", message("the file has 3074", length).c_str());
  refused("\x0a" + record.substr(1), "the file: image 0 is of class 10, and CIFAR-10 has 0 to 9");
}

TEST_CASE("arrays that do not fit together are refused") {
  const auto refused = [](nn::IdxArray images, nn::IdxArray labels, int patch, const char* why) {
    CHECK_REFUSED(ImageData(std::move(images), std::move(labels), {.patch = patch}, "dots"), why);
  };
  refused(classes(), classes(), 3, "3 dimensions");
  refused({{1, kCount, kSide, kSide}, dots().entries}, classes(), 3, "as many labels");
  refused(dots(), dots(), 3, "as many labels");
  refused(dots(), {{2}, {0, 1}}, 3, "as many labels");
  refused(dots(), classes(), 4, "whole patches of 4 x 4");
  refused(dots(), {{kCount}, std::vector<uint8_t>(kCount)}, 3, "too few");
}

TEST_CASE("MNIST's test files are 10,000 images of 28 x 28 in 10 classes" * doctest::test_suite("external")) {
  const auto images = shared_data("image/mnist-t10k-images-idx3-ubyte.gz");
  const auto labels = shared_data("image/mnist-t10k-labels-idx1-ubyte.gz");
  if (!images || !labels) return;
  const ImageData mnist = ImageData::from_files(*images, *labels, {});
  CHECK(mnist.training_images() == 9000);
  CHECK(mnist.held_out_images() == 1000);
  CHECK(mnist.classes() == 10);
  CHECK(mnist.context() == 17);
}

}  // namespace
}  // namespace psm::train
