// The CUDA device: block programs as kernels on one stream of the first GPU.
//
// Its arena is what is free when it is opened but kReserveBytes; nothing is allocated afterwards but events, where
// launches are timed. cuda_device.cu is the only file that nvcc compiles; no_cuda.cc takes its place in a build
// without --config=cuda.
#pragma once

#include <memory>

#include "ckks/device/device.h"

namespace psm::ckks {

// Throws Error where there is no GPU, its driver is too old, or the build has no CUDA.
std::unique_ptr<Device> open_cuda_device();

}  // namespace psm::ckks
