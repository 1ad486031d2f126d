// A grey picture as a data URI, for pages that carry their pictures with them: an uncompressed bitmap (BMP, 8
// bits a pixel with a palette of greys), which every browser shows and which needs no compressor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psm::cmd {

struct GreyImage {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height][width]: 0 black, 255 white
};

// Grey values of non-negative entries: 0 is white, the largest black, with a square root between, so that
// weights of a hundredth of the largest are still seen. `values` holds size * size entries.
GreyImage image_of_weights(const std::vector<double>& values, int size);

// "data:image/bmp;base64,..."
std::string bitmap_uri(const GreyImage& image);

// RFC 4648, with padding.
std::string base64(const std::string& bytes);

}  // namespace psm::cmd
