#include "ckks/device/counting_device.h"

#include <sys/mman.h>

#include <new>

namespace psm::ckks {
namespace {

KeySwitchKey unwritten_key(const Context& context, Level level, int p_count, Memory& memory) {
  KeySwitchKey key{.seed = {},
                   .level = level,
                   .p_count = p_count,
                   .digits = {},
                   .fingerprint = {context.fingerprint(), 0}};
  const Basis basis{level + 1, p_count};
  for (int d = 0; d < context.digit_count(level); ++d)
    key.digits.push_back(
        {PackedPoly(context.ring(), basis, &memory), PackedPoly(context.ring(), basis, &memory)});
  return key;
}

}  // namespace

CountingDevice::CountingDevice(size_t arena_bytes)
    : mapping_(mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  give_arena(static_cast<uint8_t*>(mapping_), arena_bytes);
}

CountingDevice::~CountingDevice() { munmap(mapping_, arena_bytes()); }

EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory) {
  EvaluationKeys keys;
  keys.fingerprint = {context.fingerprint(), 0};
  for (const KeyName& name : request.keys(context.chain()))
    keys.keys.emplace(use_of(context, name), unwritten_key(context, name.level, name.p_count, memory));
  return keys;
}

}  // namespace psm::ckks
