#include "nn/inputs/cifar.h"

#include "ckks/base/error.h"

namespace psm::nn {
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

}  // namespace psm::nn
