// CIFAR-10's binary files: records of 3,073 bytes, nothing before, between or after them.
//
//     byte 0           the class, 0 to 9
//     bytes 1 to 3072  an image of 32 x 32 pixels: all red values row by row, then the green ones, then the blue ones
//
// Source: the description on https://www.cs.toronto.edu/~kriz/cifar.html.
#pragma once

#include <string>
#include <string_view>

#include "nn/inputs/idx.h"

namespace psm::nn {

struct LabelledImages {
  IdxArray images, labels;  // of shapes [n][3][32][32] and [n]
};

// Throws psm::Error that begins with `what` unless the bytes are one to 100,000 such records.
LabelledImages parse_cifar10(std::string_view bytes, const std::string& what);

}  // namespace psm::nn
