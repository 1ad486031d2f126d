#include "ckks/base/touched_memory.h"

#include <vector>

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

TEST_CASE("the pool keeps what was touched beside all that it may hold, of any number of bytes") {
  buffer_pool::trim();
  constexpr size_t kPiece = size_t{64} << 20, kLimit = size_t{2} << 30;
  // Every other of these is freed, so that none serves the 100 MiB. Nobody writes to them: they take no memory.
  std::vector<Buffer> pieces(2 * kLimit / kPiece);
  for (Buffer& piece : pieces) piece = Buffer(kPiece / sizeof(uint64_t));
  for (size_t i = 0; i < pieces.size(); i += 2) pieces[i] = Buffer();
  REQUIRE(buffer_pool::statistics().bytes_pooled == kLimit);
  constexpr size_t kBytes = (size_t{100} << 20) + 13;
  { const TouchedMemory memory(kBytes); }
  CHECK(buffer_pool::statistics().bytes_pooled > kLimit + kBytes);
  const size_t resident = current_resident_bytes();
  Buffer buffer(kBytes / sizeof(uint64_t));
  for (uint64_t& word : buffer) word = 1;
  CHECK(current_resident_bytes() < resident + (size_t{4} << 20));
}

TEST_CASE("nothing may be asked for, and touching takes time") {
  { const TouchedMemory none(0); }
  buffer_pool::trim();
  CHECK(TouchedMemory(size_t{64} << 20).finish() > 64e6 * 1e-12);
}

}  // namespace
}  // namespace psm
