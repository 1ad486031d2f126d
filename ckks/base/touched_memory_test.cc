#include "ckks/base/touched_memory.h"

#include "ckks/base/memory.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("touched memory is resident before it is wanted, and buffers use it without asking for more") {
  constexpr size_t kBytes = size_t{200} << 20;
  buffer_pool::trim();
  const size_t before = current_resident_bytes();
  {
    TouchedMemory memory(kBytes);
    CHECK(memory.finish() > 0);
    CHECK(current_resident_bytes() >= before + kBytes);
  }
  const size_t resident = current_resident_bytes();
  CHECK(buffer_pool::statistics().bytes_pooled >= kBytes);
  Buffer one(kBytes / 16), two(kBytes / 16);
  for (Buffer* buffer : {&one, &two}) {
    for (uint64_t& word : *buffer) word = 1;
  }
  CHECK(current_resident_bytes() < resident + (size_t{4} << 20));
}

TEST_CASE("the pool keeps what was touched, even beyond its limit before") {
  buffer_pool::trim();
  buffer_pool::set_pooled_limit(size_t{16} << 20);
  { const TouchedMemory memory(size_t{100} << 20); }
  CHECK(buffer_pool::statistics().bytes_pooled >= size_t{100} << 20);
}

TEST_CASE("nothing may be asked for, and touching takes time") {
  { const TouchedMemory none(0); }
  CHECK(touch_seconds_per_byte() > 1e-12);
  CHECK(touch_seconds_per_byte() < 1e-6);
}

}  // namespace
}  // namespace psm
