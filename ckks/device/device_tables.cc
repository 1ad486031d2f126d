#include "ckks/device/device_tables.h"

#include <cstring>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// The ring is that of a file's header.
void require_limits(const Context& context) {
  const auto refuse = [](const auto&... parts) {
    throw Error(message("a device computes ", parts..., "; compute without --device"));
  };
  if (context.log_n() < kMinDeviceLogN || context.log_n() > kMaxDeviceLogN) {
    refuse("in rings of 2^", kMinDeviceLogN, " to 2^", kMaxDeviceLogN, " coefficients, and this one has 2^",
           context.log_n());
  }
  if (const int primes = context.ring().full_basis().limbs(); primes > kMaxDeviceLimbs)
    refuse("with at most ", kMaxDeviceLimbs, " primes, and these parameters have ", primes);
  for (const Gadget& band : context.chain().bands) {
    if (band.digits.size() > kMaxDigits)
      refuse("with at most ", kMaxDigits, " digits, and these parameters have ", band.digits.size());
  }
}

}  // namespace

// Values are uploaded as words.
template <class T>
const T* DeviceTables::keep(std::span<const T> values) const {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t words = (values.size_bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  std::vector<uint64_t> host(words);
  std::memcpy(host.data(), values.data(), values.size_bytes());
  Buffer& room = kept_.emplace_back(words, &device_);
  device_.upload(room.data(), host.data(), words);
  return reinterpret_cast<const T*>(room.data());
}

DeviceTables::DeviceTables(const Context& context, Device& device)
    : context_(context), device_(device), converters_(context) {
  require_limits(context);
  const Ring& ring = context.ring();
  std::vector<NttView> views;
  for (int i = 0; i < ring.full_basis().limbs(); ++i) {
    NttView& view = views.emplace_back(ring.ntt(i).view());
    for (const uint64_t** table :
         {&view.roots, &view.root_quotients, &view.inverse_roots, &view.inverse_root_quotients})
      *table = keep(std::span<const uint64_t>(*table, ring.n()));
  }
  views_ = keep(std::span<const NttView>(views));
}

const DeviceConverter& DeviceTables::converter(const BasisConverter& host) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = by_converter_.find(&host); found != by_converter_.end()) return found->second;
  std::vector<Multiplier> last, inverses;
  for (int s = 0; s < host.source_count(); ++s)
    last.insert(last.end(), {host.inverse_transform(s).inverse_n, host.inverse_transform(s).inverse_n_root});
  for (int t = 0; t < host.target_count(); ++t) inverses.push_back(host.inverse_product(t));
  return by_converter_[&host] = {&host, keep(host.matrix()), keep(host.reciprocals()),
                                 keep(std::span<const Multiplier>(last)),
                                 keep(std::span<const Multiplier>(inverses))};
}

const DeviceConverter& DeviceTables::mod_up(Level level, int digit, int p_count) const {
  return converter(converters_.mod_up(level, digit, p_count));
}

const DeviceConverter& DeviceTables::mod_down(Level level, int p_count, bool rescales) const {
  return converter(converters_.mod_down(level, p_count, rescales));
}

const DeviceConverter& DeviceTables::lift(Level level) const { return converter(converters_.lift(level)); }

const Multiplier* DeviceTables::p_products(int p_count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Multiplier*& kept = p_products_[p_count];
  if (kept != nullptr) return kept;
  std::vector<Multiplier> products;
  for (int j = 0; j < context_.ring().q_count(); ++j) products.push_back(converters_.p_product(j, p_count));
  return kept = keep(std::span<const Multiplier>(products));
}

Permutation DeviceTables::permutation(GaloisElement g) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = permutations_.find(g); found != permutations_.end()) return found->second;
  const auto table = automorphism_table(g, context_.log_n());
  const AutomorphismView& view = table->view();
  return permutations_[g] = {keep(std::span<const uint32_t>(view.blocks, view.n / 8)),
                             keep(std::span<const uint64_t>(view.permutations[0], 64))};
}

}  // namespace psm::ckks
