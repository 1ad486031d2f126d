// A square grey picture for pages with embedded pictures: an uncompressed bitmap (BMP, 8 bits a pixel with a
// palette of greys). Every browser shows it, and it needs no compressor.
#pragma once

#include <string>
#include <vector>

namespace psm::cmd {

// Returns the file's bytes for size * size entries that are not negative. 0 is white and the largest is
// black. Greys follow the square root, so that a hundredth of the largest is still visible.
std::string bitmap_of_weights(const std::vector<double>& values, int size);

// RFC 4648, with padding.
std::string base64(const std::string& bytes);

}  // namespace psm::cmd
