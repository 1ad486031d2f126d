#include "ckks/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "ckks/base/error.h"
#include "ckks/base/free_ranges.h"
#include "ckks/base/secrecy.h"

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

class BufferPool {
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

  void trim() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const bool secret : {false, true}) {
      Side& side = sides_[secret];
      for (size_t bytes; (bytes = side.touched.largest()) > 0;) {
        uint8_t* const begin = side.touched.take(bytes);
        const bool given = give_back(begin, bytes, secret);
        (given ? side.untouched : side.touched).add(begin, bytes);
        if (!given) break;
        pooled_ -= bytes;
      }
    }
  }

  void make_room(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = std::max(limit_, pooled_ + whole(bytes, kPage));
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
BufferPool& pool() {
  static BufferPool* const instance = new BufferPool;
  return *instance;
}

}  // namespace

Buffer::Buffer(size_t size, Memory* memory, bool zeroising)
    : data_(nullptr, BufferOwner{memory, size, 0, zeroising}) {
  if (size == 0) return;
  data_.reset(memory != nullptr ? memory->take(size)
                                : pool().allocate(size, zeroising, data_.get_deleter().taken_bytes));
}

void BufferOwner::operator()(uint64_t* data) const noexcept {
  if (memory != nullptr) return memory->give_back(data, size);
  if (zeroising) secure_zero(data, size * sizeof(uint64_t));
  pool().release(data, taken_bytes, zeroising);
}

void copy_words(Buffer& to, size_t to_place, const Buffer& from, size_t from_place, size_t words) {
  PSM_CHECK(!from.is_zeroising() || to.memory() == nullptr, "a secret stays in the host's memory");
  PSM_CHECK(to_place + words <= to.size() && from_place + words <= from.size(), words, " words");
  uint64_t* const target = to.data() + to_place;
  const uint64_t* const source = from.data() + from_place;
  Memory *const there = to.memory(), *const here = from.memory();
  if (there == nullptr && here == nullptr) {
    std::copy_n(source, words, target);
  } else if (here == nullptr) {
    there->upload(target, source, words);
  } else if (there == nullptr) {
    here->download(target, source, words);
  } else {
    PSM_CHECK(there == here, "from one device to another");
    there->copy(target, source, words);
  }
}

buffer_pool::Statistics buffer_pool::statistics() { return pool().statistics(); }
void buffer_pool::reset_peak() { pool().reset_peak(); }
void buffer_pool::make_room(size_t bytes) { pool().make_room(bytes); }
void buffer_pool::trim() { pool().trim(); }

}  // namespace psm
