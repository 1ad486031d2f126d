// A square grey picture for pages that carry their pictures with them: an uncompressed bitmap (BMP, 8 bits a
// pixel with a palette of greys), which every browser shows and which needs no compressor.
#pragma once

#include <string>
#include <vector>

namespace psm::cmd {

// Returns the file's bytes for size * size entries that are not negative: 0 is white, the largest black, with a
// square root between, so that weights of a hundredth of the largest are still seen.
std::string bitmap_of_weights(const std::vector<double>& values, int size);

// RFC 4648, with padding.
std::string base64(const std::string& bytes);

}  // namespace psm::cmd
