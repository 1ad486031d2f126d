#include "nn/inputs/idx.h"

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

constexpr size_t kMagic = 4, kSize = 4, kMostDimensions = 4;
constexpr unsigned char kUnsignedByte = 8;

unsigned char byte_at(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

}  // namespace

IdxArray parse_idx(std::string_view bytes, const std::string& what) {
  if (bytes.size() < kMagic || byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0)
    throw Error(
        message(what, " is not an IDX file: it does not begin with two zero bytes; give MNIST's files"));
  if (byte_at(bytes, 2) != kUnsignedByte)
    throw Error(message(what, ": entries of type ", int{byte_at(bytes, 2)},
                        " are not read; give unsigned bytes (type 8)"));
  const size_t dimensions = byte_at(bytes, 3);
  if (dimensions < 1 || dimensions > kMostDimensions)
    throw Error(message(what, ": ", dimensions, " dimensions; labels have 1, images 3, or 4 with colours"));
  const size_t header = kMagic + kSize * dimensions;
  if (bytes.size() < header) throw Error(message(what, " ends within its header; fetch it again"));
  IdxArray array;
  uint64_t entries = 1;
  for (size_t d = 0; d < dimensions; ++d) {
    uint64_t size = 0;
    for (size_t i = 0; i < kSize; ++i) size = size << 8 | byte_at(bytes, kMagic + kSize * d + i);
    // Both factors are below 2^32: the product does not overflow.
    if (size == 0 || (entries *= size) > kMaxIdxBytes)
      throw Error(message(what, ": size ", size, " of dimension ", d + 1,
                          " is none that is read here; fetch the file again"));
    array.shape.push_back(static_cast<size_t>(size));
  }
  if (bytes.size() - header != entries)
    throw Error(message(what, " holds ", bytes.size() - header, " entries where its header says ", entries,
                        "; fetch it again"));
  array.entries.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return array;
}

}  // namespace psm::nn
