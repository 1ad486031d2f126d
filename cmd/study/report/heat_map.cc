#include "cmd/study/report/heat_map.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

constexpr uint32_t kFileHeader = 14, kInfoHeader = 40, kPalette = 4 * 256;

void append(std::string& out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

GreyImage image_of_weights(const std::vector<double>& values, int size) {
  PSM_CHECK(size >= 1 && values.size() == static_cast<size_t>(size) * size, values.size(), " ", size);
  GreyImage image{size, size, std::vector<uint8_t>(values.size())};
  const double largest = *std::max_element(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const double ink = largest > 0 ? std::sqrt(std::clamp(values[i] / largest, 0.0, 1.0)) : 0.0;
    image.pixels[i] = static_cast<uint8_t>(std::lround(255 * (1 - ink)));
  }
  return image;
}

std::string bitmap_uri(const GreyImage& image) {
  const auto width = static_cast<uint32_t>(image.width), height = static_cast<uint32_t>(image.height);
  PSM_CHECK(width >= 1 && height >= 1 && image.pixels.size() == size_t{width} * height, image.pixels.size());
  const uint32_t padding = (4 - width % 4) % 4, pixels = (width + padding) * height;
  constexpr uint32_t kBegin = kFileHeader + kInfoHeader + kPalette;
  std::string file = "BM";
  append(file, kBegin + pixels, 4);
  append(file, 0, 4);  // reserved
  append(file, kBegin, 4);
  append(file, kInfoHeader, 4);
  append(file, width, 4);
  append(file, 0 - height, 4);  // negative: rows from the top
  append(file, 1, 2);           // planes
  append(file, 8, 2);           // bits a pixel
  append(file, 0, 4);           // no compression
  append(file, pixels, 4);
  append(file, 0, 4);  // pixels a metre, both directions: not said
  append(file, 0, 4);
  append(file, 256, 4);  // palette entries, all of them
  append(file, 0, 4);    // important
  for (uint32_t grey = 0; grey < 256; ++grey) append(file, grey * 0x010101, 4);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) file.push_back(static_cast<char>(image.pixels[y * width + x]));
    file.append(padding, '\0');
  }
  return "data:image/bmp;base64," + base64(file);
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t here = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < here ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text.push_back(k <= here ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

}  // namespace psm::cmd
