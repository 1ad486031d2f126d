// A grey picture as a data URI, for pages that carry their pictures with them: an uncompressed bitmap (BMP, 8
// bits a pixel with a palette of greys), which every browser shows and which needs no compressor.
#pragma once

#include <string>

#include "cmd/study/report/result.h"

namespace psm::cmd {

// "data:image/bmp;base64,..."
std::string bitmap_uri(const GreyImage& image);

// RFC 4648, with padding.
std::string base64(const std::string& bytes);

}  // namespace psm::cmd
