#include <cuda_runtime.h>

#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"

namespace psm::ckks {
namespace {

// Blocks that a multiprocessor of 65,536 registers must have room for; 0 leaves it to the compiler, which does
// with 80 registers a thread (kernel_resources_test.cc) but where it is told to.
template <class Program>
constexpr int kResidentBlocks = 0;
template <>
constexpr int kResidentBlocks<NttRows<NttDirection::kInverse>> = 3;
template <>
constexpr int kResidentBlocks<KeyRows> = 3;
// What the driver and others on the GPU may need besides.
constexpr size_t kReserveBytes = size_t{256} << 20;

template <class Program, int kPhase>
__device__ void run_phases(const Program& program, Place at, uint64_t* shared) {
  program.template phase<kPhase>(at, shared);
  if constexpr (kPhase + 1 < Program::kPhases) {
    __syncthreads();
    run_phases<Program, kPhase + 1>(program, at, shared);
  }
}

template <class Program>
__global__ void __launch_bounds__(Program::kMaxThreads, kResidentBlocks<Program>)
    block_program(const __grid_constant__ Program program) {
  __shared__ uint64_t shared[Program::kSharedWords];
  run_phases<Program, 0>(program, Place{blockIdx.x, threadIdx.x}, shared);
}

using Run = void (*)(const void* fields, uint32_t blocks, uint32_t threads, cudaStream_t stream);

template <class Program>
struct Kernel {
  static void run(const void* fields, uint32_t blocks, uint32_t threads, cudaStream_t stream) {
    block_program<Program><<<blocks, threads, 0, stream>>>(*static_cast<const Program*>(fields));
  }
};

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(message("the GPU failed to ", what, ": ", cudaGetErrorString(status)), Error::Kind::kFailed);
}

class CudaDevice final : public Device {
 public:
  CudaDevice() {
    int driver = 0, count = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
      throw Error("there is no GPU to compute on: no driver is installed; compute without --device cuda");
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaErrorInsufficientDriver)
      throw Error(message("the GPU's driver is for CUDA ", driver / 1000, ".", driver % 1000 / 10,
                          ", this build needs ", CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10,
                          "; update it, or compute without --device cuda"));
    if (found != cudaSuccess || count == 0)
      throw Error(message("there is no GPU to compute on (", cudaGetErrorString(found),
                          "); compute without --device cuda"));
    size_t free = 0, all = 0;
    require(cudaSetDevice(0), "be chosen");
    require(cudaMemGetInfo(&free, &all), "tell its memory");
    require(cudaStreamCreate(&stream_), "make a stream");
    const size_t bytes = free > kReserveBytes ? free - kReserveBytes : 0;
    require(cudaMalloc(&arena_, bytes), "reserve its memory");
    give_arena(static_cast<uint8_t*>(arena_), bytes);
  }
  ~CudaDevice() override {
    cudaStreamSynchronize(stream_);
    cudaFree(arena_);
    cudaStreamDestroy(stream_);
  }

 private:
  void run(size_t program, const void* fields, uint32_t blocks, uint32_t threads) override {
    AllPrograms::Table<Kernel, Run>::kEntries[program](fields, blocks, threads, stream_);
    require(cudaGetLastError(), "start a kernel");
  }
  void copy_words(uint64_t* to, const uint64_t* from, size_t words) override {
    require(cudaMemcpyAsync(to, from, words * sizeof(uint64_t), cudaMemcpyDeviceToDevice, stream_), "copy");
  }
  // The host may change what it gave as soon as this returns.
  void upload_words(uint64_t* to, const uint64_t* from, size_t words) override {
    require(cudaMemcpyAsync(to, from, words * sizeof(uint64_t), cudaMemcpyHostToDevice, stream_), "upload");
    require(cudaStreamSynchronize(stream_), "upload");
  }
  void download_words(uint64_t* to, const uint64_t* from, size_t words) override {
    require(cudaMemcpyAsync(to, from, words * sizeof(uint64_t), cudaMemcpyDeviceToHost, stream_), "download");
    require(cudaStreamSynchronize(stream_), "compute");
  }
  void wait_for_all() override { require(cudaStreamSynchronize(stream_), "compute"); }

  cudaStream_t stream_ = nullptr;
  void* arena_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> open_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace psm::ckks
