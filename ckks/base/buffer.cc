#include "ckks/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "ckks/base/secure_zero.h"

namespace psm {
namespace {

constexpr size_t kPage = size_t{4} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapping = size_t{64} << 20;  // at least; a part that nobody touches takes no memory

size_t whole(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// A fresh mapping aligned to huge pages, or nullptr; `bytes` is a multiple of kHugePage.
uint8_t* map_aligned(size_t bytes) {
  void* raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const size_t address = reinterpret_cast<size_t>(raw);
  const size_t head = (kHugePage - address % kHugePage) % kHugePage;
  uint8_t* aligned = static_cast<uint8_t*>(raw) + head;
  if (head > 0) munmap(raw, head);
  if (head < kHugePage) munmap(aligned + bytes, kHugePage - head);
  madvise(aligned, bytes, MADV_HUGEPAGE);  // a wish; failure costs speed only
  return aligned;
}

// Free ranges of addresses, in whole pages; neighbours are one range.
class FreeRanges {
 public:
  // Cut from the low end of the smallest range that is large enough, the lowest of these; nullptr if there is
  // none.
  uint8_t* take(size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, nullptr});
    if (fit == by_size_.end()) return nullptr;
    const auto [size, begin] = *fit;
    if (size > bytes) by_size_.emplace(size - bytes, begin + bytes);  // may throw: first, and nothing is lost
    by_size_.erase({size, begin});
    auto node = by_address_.extract(begin);
    if (size > bytes) {
      node.key() += bytes;
      node.mapped() -= bytes;
      by_address_.insert(std::move(node));
    }
    return begin;
  }

  void add(uint8_t* begin, size_t bytes) {
    const auto next = by_address_.lower_bound(begin);
    const auto previous = next == by_address_.begin() ? by_address_.end() : std::prev(next);
    const bool joins_next = next != by_address_.end() && begin + bytes == next->first;
    const bool joins_previous = previous != by_address_.end() && previous->first + previous->second == begin;
    if (joins_next) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      by_address_.erase(next);
    }
    if (joins_previous) {
      begin = previous->first;
      bytes += previous->second;
      by_size_.erase({previous->second, previous->first});
      previous->second = bytes;
    } else {
      by_address_.emplace(begin, bytes);
    }
    by_size_.emplace(bytes, begin);
  }

  std::pair<uint8_t*, size_t> largest() const {
    return by_size_.empty() ? std::pair<uint8_t*, size_t>{nullptr, 0}
                            : std::pair{by_size_.rbegin()->second, by_size_.rbegin()->first};
  }

 private:
  std::map<uint8_t*, size_t> by_address_;
  std::set<std::pair<size_t, uint8_t*>> by_size_;
};

class Pool {
 public:
  // `bytes` receives what was taken, which release() wants back with the side.
  uint64_t* allocate(size_t words, bool secret, size_t& bytes) {
    bytes = whole(words * sizeof(uint64_t), kPage);
    const std::lock_guard<std::mutex> lock(mutex_);
    Side& side = sides_[secret];
    uint8_t* taken = side.touched.take(bytes);
    if (taken != nullptr) {
      pooled_ -= bytes;
    } else {
      taken = side.untouched.take(bytes);
      if (taken == nullptr) {
        size_t mapping = std::max(whole(bytes, kHugePage), kMapping);
        uint8_t* mapped = map_aligned(mapping);
        if (mapped == nullptr)
          mapped = map_aligned(mapping = whole(bytes, kHugePage));  // addresses may be limited
        if (mapped == nullptr) throw std::bad_alloc();
        if (secret) madvise(mapped, mapping, MADV_DONTDUMP);
        side.untouched.add(mapped, mapping);
        taken = side.untouched.take(bytes);
      }
      // As far as the limit goes (ulimit -l); beyond it, the memory may be swapped out.
      if (secret) mlock(taken, bytes);
    }
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return reinterpret_cast<uint64_t*>(taken);
  }

  void release(uint64_t* data, size_t bytes, bool secret) noexcept {
    uint8_t* freed = reinterpret_cast<uint8_t*>(data);
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ -= bytes;
    try {
      if (pooled_ + bytes > limit_ && give_back(freed, bytes, secret)) {
        sides_[secret].untouched.add(freed, bytes);
      } else {
        sides_[secret].touched.add(freed, bytes);
        pooled_ += bytes;
      }
    } catch (const std::bad_alloc&) {
      give_back(freed, bytes,
                secret);  // the heap has no room to note the range: its addresses are not used again
    }
  }

  void trim(size_t keep) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const bool secret : {false, true}) {
      Side& side = sides_[secret];
      while (pooled_ > keep) {
        const auto [begin, bytes] = side.touched.largest();
        if (begin == nullptr || !give_back(begin, bytes, secret)) break;
        side.untouched.add(side.touched.take(bytes), bytes);
        pooled_ -= bytes;
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

  void raise_limit(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = std::max(limit_, bytes);
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
  // Secrets share no page with anything else.
  struct Side {
    FreeRanges touched;    // memory still behind them
    FreeRanges untouched;  // addresses only
  };

  static bool give_back(uint8_t* data, size_t bytes, bool secret) noexcept {
    return (!secret || munlock(data, bytes) == 0) && madvise(data, bytes, MADV_DONTNEED) == 0;
  }

  std::mutex mutex_;
  Side sides_[2];  // of plain buffers, of zeroising ones
  size_t in_use_ = 0;
  size_t pooled_ = 0;  // of what is touched
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
  if (size > 0) data_ = pool().allocate(size, zeroising, taken_bytes_);
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
  pool().release(data_, taken_bytes_, zeroising_);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(taken_bytes_, other.taken_bytes_);
  std::swap(zeroising_, other.zeroising_);
}

buffer_pool::Statistics buffer_pool::statistics() { return pool().statistics(); }
void buffer_pool::reset_peak() { pool().reset_peak(); }
void buffer_pool::set_pooled_limit(size_t bytes) { pool().set_limit(bytes); }
void buffer_pool::raise_pooled_limit(size_t bytes) { pool().raise_limit(bytes); }
void buffer_pool::trim() { pool().trim(0); }

}  // namespace psm
