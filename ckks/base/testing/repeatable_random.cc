#include "ckks/base/testing/repeatable_random.h"

#include <sys/random.h>

#include <cstdint>
#include <cstring>
#include <mutex>

#include "ckks/base/random/training_random.h"

namespace psm {
namespace {

std::mutex mutex;
TrainingRandom stream = TrainingRandom::resume(0);

}  // namespace

void restart_kernel_randomness() {
  const std::lock_guard lock(mutex);
  stream = TrainingRandom::resume(0);
}

}  // namespace psm

extern "C" ssize_t getrandom(void* out, size_t bytes, unsigned) {
  const std::lock_guard lock(psm::mutex);
  uint8_t* destination = static_cast<uint8_t*>(out);
  for (size_t done = 0; done < bytes; done += 8) {
    const uint64_t value = psm::stream.next_u64();
    std::memcpy(destination + done, &value, bytes - done < 8 ? bytes - done : 8);
  }
  return static_cast<ssize_t>(bytes);
}
