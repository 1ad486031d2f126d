#include "ckks/device/emulated_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

namespace psm::ckks {
namespace {

constexpr size_t kPage = size_t{2} << 20;                  // a huge one: the system opens and closes few
constexpr size_t kMarks = 8;                               // words after a block of memory
constexpr uint64_t kMark = 0xfeedface0ddba11d;             // there
constexpr uint64_t kUnwritten = 0xfff7'0bad'0bad'0badULL;  // above every residue, and no number as a double

using Run = void (*)(const void* fields, uint32_t block, const std::vector<uint32_t>& order);

template <class Program, int kPhase>
void run_phases(const Program& program, uint32_t block, const std::vector<uint32_t>& order,
                uint64_t* shared) {
  for (const uint32_t thread : order) program.template phase<kPhase>(Place{block, thread}, shared);
  if constexpr (kPhase + 1 < Program::kPhases) run_phases<Program, kPhase + 1>(program, block, order, shared);
}

template <class Program>
struct Emulation {
  static void run(const void* fields, uint32_t block, const std::vector<uint32_t>& order) {
    alignas(64) uint64_t shared[Program::kSharedWords];
    std::fill_n(shared, Program::kSharedWords, kUnwritten);
    run_phases<Program, 0>(*static_cast<const Program*>(fields), block, order, shared);
  }
};

std::vector<uint32_t> thread_order(ThreadOrder order, uint32_t threads) {
  std::vector<uint32_t> places(threads);
  std::iota(places.begin(), places.end(), 0);
  if (order == ThreadOrder::kReversed) std::reverse(places.begin(), places.end());
  if (order == ThreadOrder::kShuffled) std::shuffle(places.begin(), places.end(), std::minstd_rand());
  return places;
}

}  // namespace

class EmulatedDevice::Access {
 public:
  explicit Access(const EmulatedDevice& device) : device_(device) { set(PROT_READ | PROT_WRITE); }
  ~Access() { set(PROT_NONE); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  void set(int protection) const {
    if (!device_.options_.guarded || device_.used_ == 0) return;
    const int failed = mprotect(device_.begin_, device_.used_, protection);
    PSM_CHECK(failed == 0, "the emulated device's memory cannot be ", protection ? "opened" : "closed");
  }
  const EmulatedDevice& device_;
};

EmulatedDevice::EmulatedDevice(const EmulationOptions& options) : options_(options) {
  const int protection = options.guarded ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* arena = mmap(nullptr, options.arena_bytes + kPage, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<uint8_t*>(arena);
  begin_ = mapping_ + (kPage - reinterpret_cast<size_t>(mapping_) % kPage) % kPage;
  madvise(begin_, options.arena_bytes, MADV_HUGEPAGE);  // a wish; failure costs speed only
  give_arena(begin_, options.arena_bytes);
}

EmulatedDevice::~EmulatedDevice() { munmap(mapping_, options_.arena_bytes + kPage); }

void EmulatedDevice::run(size_t program, const void* fields, uint32_t blocks, uint32_t threads) {
  if (!options_.computes) return;
  const Run entry = AllPrograms::Table<Emulation, Run>::kEntries[program];
  const std::vector<uint32_t> order = thread_order(options_.order, threads);
  const bool reversed = options_.order == ThreadOrder::kReversed;
  const Access open(*this);
  parallel_for(0, blocks, [&](size_t i) {
    const auto block = static_cast<uint32_t>(i);
    entry(fields, reversed ? blocks - 1 - block : block, order);
  });
}

void EmulatedDevice::copy_words(uint64_t* to, const uint64_t* from, size_t words) {
  if (!options_.computes) return;
  const Access open(*this);
  std::copy_n(from, words, to);
}

void EmulatedDevice::taken(uint64_t* data, size_t words) {
  if (!options_.computes) return;
  const size_t end = static_cast<size_t>(reinterpret_cast<uint8_t*>(data + words + kMarks) - begin_);
  used_ = std::max(used_, (end + kPage - 1) / kPage * kPage);
  const Access open(*this);
  std::fill_n(data, words, kUnwritten);
  std::fill_n(data + words, kMarks, kMark);
}

void EmulatedDevice::given_back(uint64_t* data, size_t words) noexcept {
  if (!options_.computes) return;
  const Access open(*this);
  for (size_t i = 0; i < kMarks; ++i) {
    PSM_CHECK(data[words + i] == kMark, "a program wrote beyond a block of ", words, " words");
  }
}

}  // namespace psm::ckks
