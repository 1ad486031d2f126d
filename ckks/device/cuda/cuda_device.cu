#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"

namespace psm::ckks {
namespace {

// Blocks that a multiprocessor of 65,536 registers must have room for: with 1024 threads each has at most 64, with 768 at
// most 80 (kernel_resources_test.cc). Programs of one phase take fewer by themselves.
template <class Program>
constexpr int kResidentBlocks = Program::kPhases == 1 ? 0 : 1024 / std::max(32, Program::kMaxThreads);
template <int kColumnBits>
constexpr int kResidentBlocks<ConvertColumns<kColumnBits>> = 768 >> std::max(5, kColumnBits);
// What the driver and others on the GPU may need besides.
constexpr size_t kReserveBytes = size_t{256} << 20;
// What nvcc compiles for (third_party/bazel/cuda.bzl).
constexpr int kLeastCapability = 9;

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
  // Its blocks take the places of those of the launch before as these end, and wait here for the last.
  cudaGridDependencySynchronize();
  __shared__ uint64_t shared[Program::kSharedWords];
  run_phases<Program, 0>(program, Place{blockIdx.x, threadIdx.x}, shared);
}

using Run = void (*)(const void* fields, uint32_t blocks, uint32_t threads, cudaStream_t stream);

template <class Program>
struct Kernel {
  static void run(const void* fields, uint32_t blocks, uint32_t threads, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t launch{};
    launch.gridDim = blocks, launch.blockDim = threads, launch.stream = stream;
    launch.attrs = &attribute, launch.numAttrs = 1;
    cudaLaunchKernelEx(&launch, block_program<Program>, *static_cast<const Program*>(fields));
  }
};
template <class Program>
struct Name {
  static constexpr const char* run = Program::kName;
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
    int capability = 0;
    require(cudaSetDevice(0), "be chosen");
    require(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0), "tell its kind");
    if (capability < kLeastCapability)
      throw Error(message("the GPU has compute capability ", capability, ", this build needs ",
                          kLeastCapability, " (an H100) or later; compute without --device cuda"));
    require(cudaMemGetInfo(&free, &all), "tell its memory");
    require(cudaStreamCreate(&stream_), "make a stream");
    const size_t bytes = free > kReserveBytes ? free - kReserveBytes : 0;
    require(cudaMalloc(&arena_, bytes), "reserve its memory");
    give_arena(static_cast<uint8_t*>(arena_), bytes);
  }
  void time_launches(bool is_timed) override { is_timed_ = is_timed; }
  ~CudaDevice() override {
    cudaStreamSynchronize(stream_);
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaFree(arena_);
    cudaStreamDestroy(stream_);
  }

 private:
  void run(size_t program, const void* fields, uint32_t blocks, uint32_t threads) override {
    if (is_timed_) record(2 * timed_.size());
    AllPrograms::Table<Kernel, Run>::kEntries[program](fields, blocks, threads, stream_);
    require(cudaGetLastError(), "start a kernel");
    if (!is_timed_) return;
    record(2 * timed_.size() + 1);
    timed_.push_back(program);
  }
  void record(size_t event) {
    if (event == events_.size()) require(cudaEventCreate(&events_.emplace_back()), "make an event");
    require(cudaEventRecord(events_[event], stream_), "record an event");
  }
  void add_seconds(LaunchLog& log) override {
    wait_for_all();
    for (size_t i = 0; i < timed_.size(); ++i) {
      float milliseconds = 0;
      require(cudaEventElapsedTime(&milliseconds, events_[2 * i], events_[2 * i + 1]), "time a kernel");
      log.programs[*AllPrograms::Table<Name, const char* const*>::kEntries[timed_[i]]].seconds +=
          1e-3 * static_cast<double>(milliseconds);
    }
    timed_.clear();
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
  bool is_timed_ = false;
  std::vector<size_t> timed_;        // programs that ran
  std::vector<cudaEvent_t> events_;  // before and after each
};

}  // namespace

std::unique_ptr<Device> open_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace psm::ckks
