#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"

namespace psm::ckks {

std::unique_ptr<Device> open_cuda_device() {
  throw Error("this build has no CUDA device; build with --config=cuda where the CUDA toolkit is installed");
}

}  // namespace psm::ckks
