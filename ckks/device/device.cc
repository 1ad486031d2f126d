#include "ckks/device/device.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// Blocks of memory begin where a cache line does, with a line between them that belongs to none.
constexpr size_t kLine = 256;

size_t bytes_taken(size_t words) { return (words * sizeof(uint64_t) + kLine - 1) / kLine * kLine + kLine; }

}  // namespace

void LaunchLog::Entry::add(const Entry& more) {
  launches += more.launches;
  work.bytes += more.work.bytes;
  work.products += more.work.products;
  seconds += more.seconds;
}

LaunchLog::Entry LaunchLog::total() const {
  Entry sum;
  for (const auto& [name, entry] : programs) sum.add(entry);
  return sum;
}

double predicted_h200_seconds(const LaunchLog& log) {
  constexpr double kBytesPerSecond = 4.3e12, kProductsPerSecond = 1e12, kSecondsPerLaunch = 2e-6;
  double seconds = 0;
  for (const auto& [name, entry] : log.programs)
    seconds += std::max(static_cast<double>(entry.work.bytes) / kBytesPerSecond,
                        static_cast<double>(entry.work.products) / kProductsPerSecond) +
               static_cast<double>(entry.launches) * kSecondsPerLaunch;
  return seconds;
}

void Device::give_arena(uint8_t* begin, size_t bytes) {
  free_.add(begin, bytes / kLine * kLine);
  arena_bytes_ = bytes;
}

uint64_t* Device::take(size_t words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t bytes = bytes_taken(words);
  uint8_t* begin = free_.take(bytes);
  if (begin == nullptr) {
    throw Error(
        message("the device has no room for ", words * sizeof(uint64_t), " bytes more: ", in_use_, " of ",
                arena_bytes_, " are in use; use a device with more memory or a smaller model"),
        Error::Kind::kFailed);
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  auto* data = reinterpret_cast<uint64_t*>(begin);
  taken(data, words);
  return data;
}

void Device::give_back(uint64_t* data, size_t words) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  given_back(data, words);
  in_use_ -= bytes_taken(words);
  try {
    free_.add(reinterpret_cast<uint8_t*>(data), bytes_taken(words));
  } catch (const std::bad_alloc&) {
    // The host's heap has no room to note the range: it may be lost.
  }
}

void Device::copy(uint64_t* to, const uint64_t* from, size_t words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  copy_words(to, from, words);
}

void Device::upload(uint64_t* to, const uint64_t* from, size_t words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.uploaded_bytes += words * sizeof(uint64_t);
  upload_words(to, from, words);
}

void Device::download(uint64_t* to, const uint64_t* from, size_t words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_.downloaded_bytes += words * sizeof(uint64_t);
  download_words(to, from, words);
}

void Device::wait() {
  const std::lock_guard<std::mutex> lock(mutex_);
  wait_for_all();
}

LaunchLog Device::take_log() {
  const std::lock_guard<std::mutex> lock(mutex_);
  add_seconds(log_);
  return std::exchange(log_, {});
}

size_t Device::peak_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

}  // namespace psm::ckks
