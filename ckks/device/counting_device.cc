#include "ckks/device/counting_device.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace psm::ckks {

CountingDevice::CountingDevice(size_t arena_bytes)
    : mapping_(mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  give_arena(static_cast<uint8_t*>(mapping_), arena_bytes);
}

CountingDevice::~CountingDevice() { munmap(mapping_, arena_bytes()); }

EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory) {
  EvaluationKeys keys;
  keys.fingerprint = {context.fingerprint(), 0};
  for (const KeyName& name : request.keys(context.chain())) {
    KeySwitchKey key{.level = name.level, .p_count = name.p_count, .fingerprint = keys.fingerprint};
    const Basis basis{name.level + 1, name.p_count};
    for (int d = 0; d < name.digits; ++d)
      key.digits.push_back(
          {PackedPoly(context.ring(), basis, &memory), PackedPoly(context.ring(), basis, &memory)});
    keys.keys.emplace(use_of(context, name), std::move(key));
  }
  return keys;
}

}  // namespace psm::ckks
