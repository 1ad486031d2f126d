// Device: memory that the host does not read, and block programs that run on what is there.
//
// Launches and copies take effect in the order of the calls. A download returns when it is done, so only
// timing needs wait(). Memory comes from one arena that is made at the start. Nothing is allocated while a
// program runs; a request beyond the arena throws Error.
//
// Thread-safe: calls of several threads are taken in some order.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "ckks/base/buffer.h"
#include "ckks/base/free_ranges.h"
#include "ckks/device/programs/all_programs.h"
#include "ckks/device/programs/block_program.h"

namespace psm::ckks {

// A log of what a device was asked to do.
struct LaunchLog {
  struct Entry {
    uint64_t launches = 0;
    Work work;
    double seconds = 0;  // on the device, if it times its launches

    void add(const Entry& more);
  };
  std::map<std::string, Entry> programs;  // by name
  uint64_t uploaded_bytes = 0, downloaded_bytes = 0;

  Entry total() const;
};

// Predicts the seconds of a launch log on an NVIDIA H200 by its data sheet: for each program the longer of the times
// for its bytes and its products, and a constant for each launch,
//
//     sum over programs of max(bytes / B, products / M) + launches L.
//
// Copies reach B = 4.3 TB/s. 132 multiprocessors with 64 integer multipliers at 1.98 GHz make M = 10^12 products of
// residues modulo a prime of 50 bits, if a product with a root takes some sixteen multiplications. Launches follow each
// other in L = 2 us. This is not a measurement: caches serve some of the bytes, and no kernel reaches a full rate.
double predicted_h200_seconds(const LaunchLog& log);

class Device : public Memory {
 public:
  // Launches a program, whose fields are copied.
  template <class Program>
  void launch(const Program& program) {
    static_assert(std::is_trivially_copyable_v<Program> && sizeof(Program) <= kMaxProgramBytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    log_.programs[Program::kName].add({1, program.work()});
    run(AllPrograms::index_of<Program>(), &program, program.blocks(), program.threads());
  }

  uint64_t* take(size_t words) final;
  void give_back(uint64_t* data, size_t words) noexcept final;
  void copy(uint64_t* to, const uint64_t* from, size_t words) final;
  void upload(uint64_t* to, const uint64_t* from, size_t words) final;
  void download(uint64_t* to, const uint64_t* from, size_t words) final;
  // Returns when all requests are done.
  void wait();

  // Whether the log of later launches has their seconds. Only a GPU can time them.
  virtual void time_launches(bool /*is_timed*/) {}
  // Since the last call.
  LaunchLog take_log();
  size_t peak_bytes() const;
  size_t arena_bytes() const { return arena_bytes_; }

 protected:
  // `bytes` of the device's memory from `begin`, which this class hands out.
  void give_arena(uint8_t* begin, size_t bytes);

 private:
  virtual void run(size_t program, const void* fields, uint32_t blocks, uint32_t threads) = 0;
  virtual void copy_words(uint64_t* to, const uint64_t* from, size_t words) = 0;
  virtual void upload_words(uint64_t* to, const uint64_t* from, size_t words) { copy_words(to, from, words); }
  virtual void download_words(uint64_t* to, const uint64_t* from, size_t words) {
    copy_words(to, from, words);
  }
  virtual void wait_for_all() {}
  virtual void add_seconds(LaunchLog&) {}
  // Called when a block of memory is handed out and when it comes back.
  virtual void taken(uint64_t*, size_t) {}
  virtual void given_back(uint64_t*, size_t) noexcept {}

  mutable std::mutex mutex_;
  FreeRanges free_;
  size_t arena_bytes_ = 0, in_use_ = 0, peak_ = 0;
  LaunchLog log_;
};

}  // namespace psm::ckks
