// Threads, secrets, buffers.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "ckks/base/progress.h"
#include "ckks/base/secrecy.h"
#include "ckks/base/secret.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/base/touched_memory.h"

namespace psm {
namespace {

TEST_CASE("a parallel loop visits every index once, with any number of threads, nested too") {
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    CHECK(thread_count() == threads);
    std::vector<int> visits(1000, 0);
    parallel_for(0, 10, [&](size_t i) { parallel_for(0, 100, [&](size_t j) { ++visits[100 * i + j]; }); });
    CHECK(visits == std::vector<int>(1000, 1));
    parallel_for(5, 5, [&](size_t) { FAIL("an empty range was entered"); });
  }
  CHECK_THROWS_AS(set_thread_count(0), Error);
}

TEST_CASE("a thread that is held up does not hold up the iterations that it has not begun") {
  set_thread_count(2);
  std::atomic<int> done{0};
  bool others_done = false;
  parallel_for(0, 100, [&](size_t i) {
    if (i == 50) {  // the first of the second thread, which has taken 51 and 52 with it
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (done < 97 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      others_done = done == 97;
    } else {
      ++done;
    }
  });
  CHECK(others_done);
}

TEST_CASE("several threads may run parallel loops at once, one after the other, and throw in them") {
  set_thread_count(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0}, thrown{0};
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (size_t loop = 0; loop < 2000; ++loop) {
        std::vector<size_t> visits(loop % 70, 0);
        try {
          parallel_for(0, visits.size(), [&](size_t i) {
            visits[i] += i;
            if (loop % 100 == 99) throw Error("the hundredth");
          });
          for (size_t i = 0; i < visits.size(); ++i) wrong += visits[i] != i;
        } catch (const Error&) {
          ++thrown;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(thrown == 3 * 20);
  CHECK_FALSE(in_parallel_loop());
}

TEST_CASE("a secret vector starts at zero, moves, and leaves its source empty") {
  SecretVector<int> a(3);
  CHECK(a[0] + a[1] + a[2] == 0);
  a[1] = 5;
  SecretVector<int> b(std::move(a));
  CHECK(b[1] == 5);
  CHECK(a.size() == 0);
  a = std::move(b);
  CHECK(a[1] == 5);
  static_assert(!std::is_copy_constructible_v<SecretVector<int>>);
}

// The kernel's flags of the mapping that holds an address (proc(5), VmFlags): dd is "do not dump", lo "locked".
std::string mapping_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  for (bool inside = false; std::getline(maps, line);) {
    unsigned long begin, end;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<unsigned long>(address);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.substr(8) + " ";
    }
  }
  return "";
}

bool may_lock() {
  rlimit limit;
  return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= (1 << 18);
}

TEST_CASE("secrets lie in pages of their own, not dumped and, within the limit, not swapped out") {
  const Buffer plain(1 << 12), secret = Buffer::zeroising(1 << 12), large = Buffer::zeroising(3 << 20);
  const SecretVector<int> vector(1000);
  if (mapping_flags(plain.data()).empty() || std::getenv("PSM_EMULATED") != nullptr) {
    say_skipped("this system does not tell the flags of a mapping");
    return;
  }
  CHECK(mapping_flags(plain.data()).find(" dd ") == std::string::npos);
  CHECK(mapping_flags(plain.data()).find(" lo ") == std::string::npos);
  CHECK(mapping_flags(secret.data()).find(" dd ") != std::string::npos);
  CHECK(mapping_flags(vector.data()).find(" dd ") != std::string::npos);
  CHECK(mapping_flags(large.data()).find(" dd ") != std::string::npos);
  if (kSanitised) return;
  if (!may_lock()) {
    say_skipped("this process may lock no memory");
    return;
  }
  CHECK(mapping_flags(secret.data()).find(" lo ") != std::string::npos);
  CHECK(mapping_flags(vector.data()).find(" lo ") != std::string::npos);
}

TEST_CASE("memory of secrets is given back and taken again, locked again") {
  const void* place;
  {
    const Buffer secret = Buffer::zeroising(1 << 13);
    place = secret.data();
  }
  buffer_pool::trim();
  const std::string unlocked = mapping_flags(place);
  CHECK(unlocked.find(" lo ") == std::string::npos);
  const Buffer again = Buffer::zeroising(1 << 13);
  REQUIRE(again.data() == place);
  if (!kSanitised && may_lock() && !unlocked.empty())
    CHECK(mapping_flags(place).find(" lo ") != std::string::npos);
}

TEST_CASE("where no memory may be locked, secrets live as before") {
  CHECK(in_child([] {
          const rlimit none{0, 0};
          if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 2;
          Buffer secret = Buffer::zeroising(4 << 20);
          secret[0] = 1;
          secret = Buffer();
          buffer_pool::trim();
          return 0;
        }) == 0);
}

TEST_CASE("a process that forbids core dumps leaves none, and nobody of its user attaches to it") {
  CHECK(in_child([] {
          if (prctl(PR_GET_DUMPABLE) != 1) return 2;
          forbid_core_dumps();
          rlimit limit;
          return prctl(PR_GET_DUMPABLE) == 0 && getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0
                     ? 0
                     : 1;
        }) == 0);
}

// A device's memory for tests: the heap, and a count of what is taken.
class HeapMemory final : public Memory {
 public:
  uint64_t* take(size_t words) override {
    taken += words;
    return new uint64_t[words];
  }
  void give_back(uint64_t* data, size_t words) noexcept override {
    taken -= words;
    delete[] data;
  }
  void copy(uint64_t* to, const uint64_t* from, size_t words) override { std::copy_n(from, words, to); }
  void upload(uint64_t* to, const uint64_t* from, size_t words) override { copy(to, from, words); }
  void download(uint64_t* to, const uint64_t* from, size_t words) override { copy(to, from, words); }

  size_t taken = 0;
};

TEST_CASE("words go to a device's memory, about there, and back, and the memory is given back") {
  HeapMemory memory;
  Buffer host(16);
  for (size_t i = 0; i < 16; ++i) host[i] = i;
  {
    Buffer there(16, &memory), copy(8, &memory), back(16);
    CHECK(there.memory() == &memory);
    CHECK(memory.taken == 24);
    copy_words(there, 0, host, 0, 16);
    copy_words(copy, 2, there, 8, 6);
    copy_words(back, 0, there, 0, 16);
    CHECK(std::equal(host.begin(), host.end(), back.begin()));
    copy_words(back, 0, copy, 2, 6);
    CHECK(std::equal(back.begin(), back.begin() + 6, host.begin() + 8));
    const Buffer moved = std::move(there);
    CHECK(moved.memory() == &memory);
  }
  CHECK(memory.taken == 0);
}

// Memory that is wiped is the host's: there is no way to ask for it elsewhere, and no copy leaves.
template <class Where>
concept HasZeroisingIn = requires(Where* where) {
  Buffer::zeroising(size_t{1}, where);
};
static_assert(!HasZeroisingIn<Memory>);

TEST_CASE("what is wiped does not leave the host's memory") {
  HeapMemory memory;
  const Buffer secret = Buffer::zeroising(8);
  CHECK(secret.memory() == nullptr);
  CHECK(is_stopped([&] {
    Buffer there(8, &memory);
    copy_words(there, 0, secret, 0, 8);
  }));
}

TEST_CASE("buffers are aligned, and touched memory serves any size before the system is asked for more") {
  buffer_pool::trim();
  const auto touched = [] {
    const buffer_pool::Statistics now = buffer_pool::statistics();
    return now.bytes_in_use + now.bytes_pooled;
  };
  std::vector<Buffer> neighbours;
  for (int i = 0; i < 4; ++i) neighbours.emplace_back(250000);
  const size_t before = touched();
  neighbours.clear();
  for (size_t size : {1, 63, 64, 65, 1000, 4096, 65536, 999000}) {  // the last one where all four were
    Buffer buffer(size);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
    buffer[0] = 1;
    buffer[size - 1] = 2;
    CHECK(touched() == before);
  }
  Buffer larger(4000000);
  CHECK(touched() >= before + larger.size() * 8);
}

TEST_CASE("live buffers never overlap") {
  std::vector<Buffer> buffers;
  for (size_t i = 1; i <= 300; ++i) {
    buffers.emplace_back(i * 37);
    for (uint64_t& word : buffers.back()) word = i;
    if (i % 3 == 0) buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(i % buffers.size()));
  }
  for (const Buffer& buffer : buffers) {
    for (uint64_t word : buffer) REQUIRE(word * 37 == buffer.size());
  }
}

TEST_CASE("a zeroising buffer is wiped before it goes back to the pool") {
  const uint64_t* place;
  {
    Buffer secret = Buffer::zeroising(777);
    CHECK(secret.is_zeroising());
    for (uint64_t& word : secret) word = 0x5ec2e7;
    place = secret.data();
  }
  const Buffer again = Buffer::zeroising(777);
  REQUIRE(again.data() == place);
  for (uint64_t word : again) REQUIRE(word == 0);
}

TEST_CASE("the pool counts what is in use and gives memory back") {
  buffer_pool::trim();
  const size_t before = buffer_pool::statistics().bytes_in_use;
  constexpr size_t kBytes = size_t{64} << 20;  // a mapping each, so that the free ranges are of equal size
  {
    std::vector<Buffer> large(3);
    for (Buffer& buffer : large) {
      buffer = Buffer(kBytes / sizeof(uint64_t));
      std::memset(buffer.data(), 1, kBytes);
    }
    CHECK(buffer_pool::statistics().bytes_in_use == before + 3 * kBytes);
    CHECK(buffer_pool::statistics().peak_in_use >= before + 3 * kBytes);
  }
  CHECK(buffer_pool::statistics().bytes_in_use == before);
  CHECK(buffer_pool::statistics().bytes_pooled >= 3 * kBytes);
  const size_t resident = current_resident_bytes();
  buffer_pool::trim();
  CHECK(buffer_pool::statistics().bytes_pooled < size_t{1} << 20);
  CHECK(current_resident_bytes() + 3 * kBytes - (size_t{32} << 20) < resident);
  // And the addresses can be used again.
  Buffer again(size_t{8} << 20);
  again[12345] = 1;
}

TEST_CASE("buffers may be taken and given back by many threads at once") {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 0; i < 2000; ++i) {
        Buffer buffer(64 + i % 100);
        for (uint64_t& word : buffer) word = t;
        for (uint64_t word : buffer) PSM_CHECK(word == t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a progress bar keeps to one line of a narrow terminal") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE((grantpt(master) == 0 && unlockpt(master) == 0));
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  const winsize narrow{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(ioctl(terminal, TIOCSWINSZ, &narrow) == 0);
  CHECK(in_child([&] {
          dup2(terminal, STDERR_FILENO);
          Progress progress("a long piece of work", 10);
          progress.note("and how it goes");
          std::this_thread::sleep_for(std::chrono::milliseconds(2100));
          progress.advance();
          _exit(0);
          return 0;
        }) == 0);
  close(terminal);  // so that reading ends, even if nothing was drawn
  char drawn[1000];
  const ssize_t count = read(master, drawn, sizeof drawn);
  REQUIRE(count > 0);
  const std::string line(drawn, static_cast<size_t>(count));
  CHECK(line.starts_with("\r\033[Ka long piece of work ["));
  CHECK(line.size() == std::strlen("\r\033[K") + 39);
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
  {
    const TouchedMemory memory(kBytes);  // its destructor waits
    TouchedMemory nothing(0);
    CHECK(nothing.finish() >= 0);
  }
  CHECK(buffer_pool::statistics().bytes_pooled > kLimit + kBytes);
  const size_t resident = current_resident_bytes();
  Buffer buffer(kBytes / sizeof(uint64_t));
  for (uint64_t& word : buffer) word = 1;
  if (!kSanitised) CHECK(current_resident_bytes() < resident + (size_t{4} << 20));
}

}  // namespace
}  // namespace psm
