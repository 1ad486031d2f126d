// Plaintexts, whose coefficients the host has computed.
#include <bit>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/device/device_engine.h"

namespace psm::ckks {

Buffer DeviceEngine::residues(const CoefficientTile& tile, Basis basis) const {
  const auto limbs = static_cast<size_t>(basis.limbs());
  const int log_values = std::countr_zero(tile.values);
  PSM_CHECK(tile.coefficients.size() == tile.limb_words(), tile.coefficients.size(), " coefficients");
  Buffer out(limbs * tile.limb_words(), &device_), coefficients(tile.limb_words(), &device_);
  device_.upload(coefficients.data(), reinterpret_cast<const uint64_t*>(tile.coefficients.data()),
                 tile.limb_words());
  const EncodeTile all{primes_of(basis),
                       log_values,
                       static_cast<int>(tile.rows),
                       static_cast<int>(tile.cols),
                       tile.by_runs ? static_cast<int>(kMatrixRows) : 0,
                       tile.largest >= 0x1p62,
                       reinterpret_cast<const double*>(coefficients.data()),
                       out.data()};
  if (log_values <= EncodeBlock::kLogMost) {
    device_.launch(EncodeBlock{all});
    return out;
  }
  // One plaintext lies as its transforms do.
  const bool is_spread = tile.plaintexts() > 1;
  Buffer apart = is_spread ? Buffer(out.size(), &device_) : Buffer();
  ReduceCoefficients reduce{all};
  if (is_spread) reduce.out = apart.data();
  device_.launch(reduce);
  std::vector<NttTask> tasks;
  for (size_t i = 0; i < limbs * tile.plaintexts(); ++i) {
    uint64_t* const limb = reduce.out + i * tile.values;
    tasks.push_back({limb, limb, nullptr, ring().prime_index(basis, static_cast<int>(i % limbs))});
  }
  transform_columns<NttDirection::kForward>(log_values, tasks);
  transform_rows<NttDirection::kForward>(log_values, tasks);
  if (is_spread) device_.launch(SpreadValues{all, reduce.out});
  return out;
}

}  // namespace psm::ckks
