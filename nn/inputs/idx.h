// The IDX format of the MNIST files: an array of unsigned bytes with its shape.
//
//     offset 0   0, 0, 8 (unsigned bytes), D            D dimensions, 1 to 4 here
//     offset 4   D sizes, 32 bits each, big-endian
//     then       the entries, the last dimension fastest; nothing after them
//
// Source: the description on the MNIST page, http://yann.lecun.com/exdb/mnist. Other types of entries exist
// and are refused. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace psm::nn {

constexpr uint64_t kMaxIdxBytes = uint64_t{1} << 30;

struct IdxArray {
  std::vector<size_t> shape;     // from 1 each
  std::vector<uint8_t> entries;  // as many as the product of the shape
};

// A value of image i of an array of shape [count][height][width] or [count][channels][height][width]. A grey image has
// the same in each channel.
inline uint8_t pixel(const IdxArray& images, size_t i, int channel, int row, int column) {
  const std::vector<size_t>& shape = images.shape;
  const size_t plane = shape.size() == 4 ? i * shape[1] + static_cast<size_t>(channel) : i;
  return images.entries[(plane * shape.end()[-2] + static_cast<size_t>(row)) * shape.back() +
                        static_cast<size_t>(column)];
}

// Throws psm::Error that begins with `what` unless the bytes are such an array, with exactly as many entries
// as its shape says.
IdxArray parse_idx(std::string_view bytes, const std::string& what);

}  // namespace psm::nn
