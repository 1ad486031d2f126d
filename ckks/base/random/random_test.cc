#include "ckks/base/random/random.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/child.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

bool kernel_fails = false;

TEST_CASE("the ChaCha20 block of RFC 8439, section 2.3.2") {
  std::array<uint32_t, 8> key;
  uint8_t key_bytes[32];
  for (int i = 0; i < 32; ++i) key_bytes[i] = static_cast<uint8_t>(i);
  std::memcpy(key.data(), key_bytes, 32);
  // There: a 32-bit counter of 1 and the nonce 000000090000004a00000000; word 13 is the upper half of ours.
  uint8_t block[64];
  chacha20_blocks(key, 0x000000004a000000, uint64_t{0x09000000} << 32 | 1, block, 1);
  CHECK(hex(block, 64) ==
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

TEST_CASE("every block function gives, for any number of blocks, what the portable one gives one by one") {
  const std::array<uint32_t, 8> key = {1, 2, 3, 4, 5, 6, 7, 0xffffffff};
  for (uint64_t counter : {uint64_t{0}, uint64_t{0xfffffff8}, ~uint64_t{0} - 7}) {
    for (size_t blocks : {1, 3, 7, 8, 9, 15, 16, 17, 32, 40, 67}) {
      std::vector<uint8_t> expected(64 * blocks), actual(64 * blocks);
      const std::span<BlockFunction* const> functions = chacha20_block_functions();
      for (size_t i = 0; i < blocks; ++i)
        functions.back()(key, 0x0123456789abcdef, counter + i, expected.data() + 64 * i, 1);
      for (size_t i = 0; i < functions.size(); ++i) {
        CAPTURE(i);
        CAPTURE(counter);
        CAPTURE(blocks);
        functions[i](key, 0x0123456789abcdef, counter, actual.data(), blocks);
        REQUIRE(actual == expected);
      }
    }
  }
}

TEST_CASE("secure random words do not repeat, within a source or between two") {
  SecureRandom a, b;
  std::set<uint64_t> seen;
  for (int i = 0; i < 5000; ++i) seen.insert({a.next_u64(), b.next_u64()});
  CHECK(seen.size() == 10000);
}

TEST_CASE("after a fork parent and child draw different bytes") {
  SecureRandom random;
  random.next_u64();
  const auto childs = from_child<uint64_t>([&] { return random.next_u64(); });
  const uint64_t own = random.next_u64();
  CHECK(own != childs);
}

TEST_CASE("a child whose kernel gives no bytes draws none of its parent's, however often it asks") {
  SecureRandom random;
  random.next_u64();
  CHECK(in_child([&] {
          kernel_fails = true;
          for (int i = 0; i < 2; ++i) {
            try {
              random.next_u64();
              return 1;
            } catch (const Error&) {
            }
          }
          return 0;
        }) == 0);
}

TEST_CASE("seeds never repeat, not even after a fork") {
  std::set<std::array<uint8_t, 32>> seen;
  for (int i = 0; i < 400; ++i) seen.insert(fresh_seed().bytes);
  const auto childs = from_child<Seed>([] { return fresh_seed(); });
  seen.insert({childs.bytes, fresh_seed().bytes});
  CHECK(seen.size() == 402);
  CHECK(fresh_identifier() != fresh_identifier());
}

TEST_CASE("a secret stream takes no seed and has no copy") {
  CHECK_FALSE(std::is_constructible_v<SecureRandom, uint64_t>);
  CHECK_FALSE(std::is_constructible_v<SecureRandom, Seed>);
  CHECK_FALSE(std::is_copy_constructible_v<SecureRandom>);
  CHECK_FALSE(std::is_move_constructible_v<SecureRandom>);
}

TEST_CASE("a resumed process image repeats what was buffered, but nothing after renew") {
  SecureRandom random;
  random.next_u64();
  std::vector<uint8_t> image(sizeof random);
  std::memcpy(image.data(), static_cast<const void*>(&random), sizeof random);
  const auto resume = [&] { std::memcpy(static_cast<void*>(&random), image.data(), sizeof random); };
  const uint64_t first = random.next_u64();
  resume();
  CHECK(random.next_u64() == first);  // why renew exists
  std::set<uint64_t> seen = {first};
  for (int i = 0; i < 3; ++i) {
    resume();
    random.renew();
    seen.insert(random.next_u64());
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("training random numbers are fixed by the seed and can be resumed") {
  TrainingRandom a(42), b(42), c(43);
  CHECK(a.next_u64() == b.next_u64());
  CHECK(a.next_u64() != c.next_u64());
  TrainingRandom resumed = TrainingRandom::resume(a.state());
  CHECK(resumed.next_u64() == a.next_u64());
  CHECK(a.split(1).next_u64() != a.split(2).next_u64());
}

TEST_CASE("training random numbers have the moments of their distributions") {
  TrainingRandom random(7);
  constexpr int kDraws = 200000;
  double sum = 0, normal_sum = 0, normal_squares = 0;
  std::array<int, 6> dice{};
  for (int i = 0; i < kDraws; ++i) {
    sum += random.uniform();
    const double z = random.normal();
    normal_sum += z;
    normal_squares += z * z;
    ++dice[random.integer(6)];
  }
  CHECK(std::abs(sum / kDraws - 0.5) < 0.005);
  CHECK(std::abs(normal_sum / kDraws) < 0.01);
  CHECK(std::abs(normal_squares / kDraws - 1) < 0.02);
  for (int count : dice) CHECK(std::abs(count - kDraws / 6.0) < 1000);
}

}  // namespace
}  // namespace psm

// In the place of the C library's: does the same, unless it is to fail.
extern "C" ssize_t getrandom(void* out, size_t bytes, unsigned flags) {
  if (!psm::kernel_fails) return syscall(SYS_getrandom, out, bytes, flags);
  errno = EIO;
  return -1;
}
