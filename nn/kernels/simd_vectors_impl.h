// Vectors of PSM_LANES floats: loads and stores, whole and in part, loops over a row, reductions over all
// lanes. For simd_kernels_impl.h, which says how it is compiled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::nn {
namespace {

constexpr int kLanes = PSM_LANES;

typedef float Floats __attribute__((vector_size(4 * PSM_LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * PSM_LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * PSM_LANES)));

inline Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
inline Floats all(float x) { return x - Floats{}; }
inline Words load_words(const void* p) {
  Words v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store_words(uint32_t* p, Words v) { __builtin_memcpy(p, &v, sizeof v); }

// The first `count` lanes, with zeros behind them.
#if PSM_LANES == 16  // AVX-512
inline __mmask16 first_lanes(size_t count) { return static_cast<__mmask16>((1u << count) - 1); }
inline Floats load_part(const float* p, size_t count) {
  return (Floats)_mm512_maskz_loadu_ps(first_lanes(count), p);
}
inline void store_part(float* p, Floats v, size_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), (__m512)v);
}
#else
inline Floats load_part(const float* p, size_t count) {
  Floats v{};
  __builtin_memcpy(&v, p, count * sizeof(float));
  return v;
}
inline void store_part(float* p, Floats v, size_t count) { __builtin_memcpy(p, &v, count * sizeof(float)); }
#endif

// A vector's lanes of a row, and the remaining ones, behind which zeros are read and nothing is written.
struct WholeLanes {
  size_t first;
  Floats take(const float* row) const { return load(row + first); }
  void put(float* row, Floats v) const { store(row + first, v); }
  Floats filled(Floats v, float) const { return v; }
};
struct RestLanes {
  size_t first, count;
  Floats take(const float* row) const { return load_part(row + first, count); }
  void put(float* row, Floats v) const { store_part(row + first, v, count); }
  // v with this number in the lanes behind the row.
  Floats filled(Floats v, float behind) const {
    for (size_t lane = count; lane < kLanes; ++lane) v[lane] = behind;
    return v;
  }
};

// Calls visit(lanes) on whole vectors and once on the remaining lanes.
template <typename Visit>
inline void for_lanes(size_t count, Visit visit) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) visit(WholeLanes{i});
  if (i < count) visit(RestLanes{i, count - i});
}

// y_i <- f(x_i ..), of rows x that may be y.
template <typename F, typename... X>
inline void map_row(size_t count, float* y, F f, const X*... x) {
  for_lanes(count, [&](auto at) { at.put(y, f(at.take(x)...)); });
}

// Reduces all lanes by halves, first lanes i and i + w.
template <typename Vector, typename Op>
inline auto of_all_lanes(Vector v, Op op) {
  for (int w = kLanes / 2; w > 0; w /= 2)
    for (int lane = 0; lane < w; ++lane) v[lane] = op(v[lane], v[lane + w]);
  return v[0];
}
#if PSM_LANES == 16  // AVX-512
inline float sum_of_lanes(Floats v) { return _mm512_reduce_add_ps((__m512)v); }
inline float highest_lane(Floats v) { return _mm512_reduce_max_ps((__m512)v); }
inline int32_t largest_lane(Ints v) { return _mm512_reduce_max_epi32((__m512i)v); }
inline int32_t smallest_lane(Ints v) { return _mm512_reduce_min_epi32((__m512i)v); }
#else
inline float sum_of_lanes(Floats v) {
  return of_all_lanes(v, [](float a, float b) { return a + b; });
}
inline float highest_lane(Floats v) {
  return of_all_lanes(v, [](float a, float b) { return b > a ? b : a; });
}
inline int32_t largest_lane(Ints v) {
  return of_all_lanes(v, [](int32_t a, int32_t b) { return b > a ? b : a; });
}
inline int32_t smallest_lane(Ints v) {
  return of_all_lanes(v, [](int32_t a, int32_t b) { return b < a ? b : a; });
}
#endif

// sum_i f(x_i ..), where f of zeros is zero.
template <typename F, typename... X>
inline float sum_row(size_t count, F f, const X*... x) {
  Floats sum{};
  for_lanes(count, [&](auto at) { sum += f(at.take(x)...); });
  return sum_of_lanes(sum);
}

}  // namespace
}  // namespace psm::nn
