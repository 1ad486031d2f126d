#include "ckks/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "ckks/base/secure_zero.h"

namespace psm {
namespace {

constexpr size_t kPage = size_t{4} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kArena = size_t{64} << 20;

// Eight classes an octave: at most an eighth of a buffer is unused. Sizes of 512 bytes and more are then
// multiples of 64 bytes, which keeps every buffer aligned to a cache line.
size_t class_bytes(size_t words) {
  const size_t bytes = std::max(words * sizeof(uint64_t), size_t{512});
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// A fresh mapping aligned to huge pages; `bytes` is a multiple of kHugePage.
uint8_t* map_aligned(size_t bytes) {
  void* raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  const size_t address = reinterpret_cast<size_t>(raw);
  const size_t head = (kHugePage - address % kHugePage) % kHugePage;
  uint8_t* aligned = static_cast<uint8_t*>(raw) + head;
  if (head > 0) munmap(raw, head);
  if (head < kHugePage) munmap(aligned + bytes, kHugePage - head);
  madvise(aligned, bytes, MADV_HUGEPAGE);  // a wish; failure costs speed only
  return aligned;
}

class Pool {
 public:
  // `bytes` receives the class of what was taken, which release() wants back with the side.
  uint64_t* allocate(size_t words, bool secret, size_t& bytes) {
    bytes = class_bytes(words);
    const std::lock_guard<std::mutex> lock(mutex_);
    Side& side = sides_[secret];
    uint8_t* taken = nullptr;
    bool fresh = false;
    // Memory that was touched before, even if it is up to twice as large, beats fresh pages.
    for (auto fit = side.free.lower_bound(bytes); fit != side.free.end() && fit->first <= 2 * bytes; ++fit) {
      if (fit->second.backed.empty()) continue;
      bytes = fit->first;
      break;
    }
    FreeList& list = side.free[bytes];
    if (!list.backed.empty()) {
      taken = list.backed.back();
      list.backed.pop_back();
      pooled_ -= bytes;
    } else if (!list.unbacked.empty()) {
      taken = list.unbacked.back();
      list.unbacked.pop_back();
      fresh = true;
    } else {
      taken = carve(side, bytes);
      fresh = true;
    }
    // As far as the limit goes (ulimit -l); beyond it, the memory may be swapped out.
    if (secret && fresh) mlock(taken, bytes);
    // Room for its return, so that release() cannot fail.
    ++list.live;
    const size_t most = list.backed.size() + list.unbacked.size() + list.live;
    for (auto* side : {&list.backed, &list.unbacked}) {
      if (side->capacity() < most) side->reserve(2 * most);
    }
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return reinterpret_cast<uint64_t*>(taken);
  }

  void release(uint64_t* data, size_t bytes, bool secret) noexcept {
    uint8_t* freed = reinterpret_cast<uint8_t*>(data);
    const std::lock_guard<std::mutex> lock(mutex_);
    FreeList& list = sides_[secret].free.find(bytes)->second;
    --list.live;
    in_use_ -= bytes;
    if (pooled_ + bytes > limit_ && give_back(freed, bytes, secret)) {
      list.unbacked.push_back(freed);
    } else {
      list.backed.push_back(freed);
      pooled_ += bytes;
    }
  }

  void trim(size_t keep) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const bool secret : {false, true}) {
      for (auto& [bytes, list] : sides_[secret].free) {
        while (pooled_ > keep && !list.backed.empty() && give_back(list.backed.back(), bytes, secret)) {
          list.unbacked.push_back(list.backed.back());
          list.backed.pop_back();
          pooled_ -= bytes;
        }
      }
    }
  }

  void set_limit(size_t bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      limit_ = bytes;
    }
    trim(bytes);
  }

  buffer_pool::Statistics statistics() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {in_use_, pooled_, peak_};
  }

  void reset_peak() {
    const std::lock_guard<std::mutex> lock(mutex_);
    peak_ = in_use_;
  }

 private:
  struct FreeList {
    std::vector<uint8_t*> backed;    // free, memory still behind it
    std::vector<uint8_t*> unbacked;  // free, only its addresses are kept
    size_t live = 0;
  };

  // Secrets share no page with anything else.
  struct Side {
    std::map<size_t, FreeList> free;
    uint8_t* arena = nullptr;
    size_t arena_used = 0;
  };

  uint8_t* map(const Side& side, size_t bytes) {
    uint8_t* mapped = map_aligned(bytes);
    if (&side == &sides_[true]) madvise(mapped, bytes, MADV_DONTDUMP);
    return mapped;
  }

  // New addresses: the current arena's next bytes, or a mapping of its own for something large.
  uint8_t* carve(Side& side, size_t bytes) {
    if (bytes > kArena / 4) return map(side, (bytes + kHugePage - 1) / kHugePage * kHugePage);
    // Whole pages start on pages, so that their memory can be given back.
    const size_t alignment = bytes >= kPage ? kPage : 64;
    size_t begin = (side.arena_used + alignment - 1) / alignment * alignment;
    if (side.arena == nullptr || begin + bytes > kArena) {
      side.arena = map(side, kArena);
      begin = 0;
    }
    side.arena_used = begin + bytes;
    return side.arena + begin;
  }

  // Returns whether the memory was given back; small buffers share pages and are kept.
  static bool give_back(uint8_t* data, size_t bytes, bool secret) noexcept {
    const size_t whole = bytes / kPage * kPage;
    return whole > 0 && (!secret || munlock(data, whole) == 0) && madvise(data, whole, MADV_DONTNEED) == 0;
  }

  std::mutex mutex_;
  Side sides_[2];  // of plain buffers, of zeroising ones
  size_t in_use_ = 0;
  size_t pooled_ = 0;
  size_t peak_ = 0;
  size_t limit_ = size_t{2} << 30;
};

// Never destroyed: buffers in static objects may outlive any order of destruction.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

Buffer::Buffer(size_t size) : Buffer(size, false) {}

Buffer::Buffer(size_t size, bool zeroising) : size_(size), zeroising_(zeroising) {
  if (size > 0) data_ = pool().allocate(size, zeroising, class_bytes_);
}

Buffer Buffer::zeroising(size_t size) { return Buffer(size, true); }

Buffer::Buffer(Buffer&& other) noexcept { swap(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  swap(taken);
  return *this;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (zeroising_) secure_zero(data_, size_ * sizeof(uint64_t));
  pool().release(data_, class_bytes_, zeroising_);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(class_bytes_, other.class_bytes_);
  std::swap(zeroising_, other.zeroising_);
}

buffer_pool::Statistics buffer_pool::statistics() { return pool().statistics(); }
void buffer_pool::reset_peak() { pool().reset_peak(); }
void buffer_pool::set_pooled_limit(size_t bytes) { pool().set_limit(bytes); }
void buffer_pool::trim() { pool().trim(0); }

}  // namespace psm
