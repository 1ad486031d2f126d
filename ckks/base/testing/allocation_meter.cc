#include "ckks/base/testing/allocation_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "ckks/base/buffer.h"

namespace {

std::atomic<size_t> live{0}, peak{0};

void* counted_or_null(void* memory) noexcept {
  if (memory == nullptr) return nullptr;
  const size_t now = live.fetch_add(malloc_usable_size(memory)) + malloc_usable_size(memory);
  for (size_t seen = peak.load(); seen < now && !peak.compare_exchange_weak(seen, now);) {
  }
  return memory;
}

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return counted_or_null(memory);
}

void release(void* memory) {
  if (memory == nullptr) return;
  live.fetch_sub(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return counted(std::malloc(bytes > 0 ? bytes : 1)); }
void* operator new[](size_t bytes) { return counted(std::malloc(bytes > 0 ? bytes : 1)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  const size_t step = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(step, (bytes + step) / step * step));
}
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(std::malloc(bytes > 0 ? bytes : 1));
}
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }
void operator delete[](void* memory, size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { release(memory); }

namespace psm {

AllocationMeter::AllocationMeter() : heap_(live.load()), buffers_(buffer_pool::statistics().bytes_in_use) {
  peak.store(heap_);
  buffer_pool::reset_peak();
}

size_t AllocationMeter::peak_bytes() const {
  const size_t heap = peak.load(), buffers = buffer_pool::statistics().peak_in_use;
  return (heap > heap_ ? heap - heap_ : 0) + (buffers > buffers_ ? buffers - buffers_ : 0);
}

}  // namespace psm
