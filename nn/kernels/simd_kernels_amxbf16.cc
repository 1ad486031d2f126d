// Kernels for AVX-512 with products of bf16 numbers by AMX's tiles; this file alone is compiled with those
// flags.
//
// A tile is a register of 16 rows of 64 bytes. One instruction adds to 16 x 16 sums the products of 16 rows of
// 16 pairs with 16 pairs of rows of 16 columns: panels are packed in just that order. Four tiles of sums hide
// the latency of the unit, and each factor that is loaded is used twice.
#include "nn/kernels/simd_kernels.h"

#if defined(PSM_LANES) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nn/kernels/simd_kernels_impl.h"

namespace psm::nn {
namespace {

constexpr int kEdge = 16;  // rows of a tile, and 32-bit numbers in each
constexpr int kRowBytes = 4 * kEdge;
constexpr int kSquare = 2 * kEdge;  // rows and columns of C computed at once

// What was written there is in memory from here on: instructions on tiles do not tell the compiler all that
// they read.
inline void in_memory(const void* written) { __asm__ volatile("" : : "r"(written) : "memory"); }

// All eight tiles are whole. A thread's configuration stays as it is: nothing else in this program uses
// tiles.
void configure_tiles() {
  thread_local bool configured = false;
  if (configured) return;
  struct {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } shape;
  for (int tile = 0; tile < 8; ++tile) shape.row_bytes[tile] = kRowBytes, shape.rows[tile] = kEdge;
  in_memory(&shape);
  _tile_loadconfig(&shape);
  configured = true;
}

// Sums of the upper left, upper right, lower left and lower right are in tiles 0 to 3; of a C with one row or
// one column of tiles those beyond are not used.
inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

inline void load_sums(bool low, bool right, const float* from, std::ptrdiff_t row) {
  in_memory(from);
  const float* const below = from + kEdge * row;
  _tile_loadd(0, from, 4 * row);
  if (right) _tile_loadd(1, from + kEdge, 4 * row);
  if (low) _tile_loadd(2, below, 4 * row);
  if (low && right) _tile_loadd(3, below + kEdge, 4 * row);
}

inline void store_sums(bool low, bool right, float* to, std::ptrdiff_t row) {
  float* const below = to + kEdge * row;
  _tile_stored(0, to, 4 * row);
  if (right) _tile_stored(1, to + kEdge, 4 * row);
  if (low) _tile_stored(2, below, 4 * row);
  if (low && right) _tile_stored(3, below + kEdge, 4 * row);
}

// sums += A B. In the meantime the square to the right of C comes into the caches, where the caller goes on.
template <bool kLow, bool kRight>
inline void add_products(int steps, const uint32_t* a, std::ptrdiff_t a_row, const uint32_t* panel,
                         const float* c, std::ptrdiff_t c_row) {
  const int rows_ahead = (kSquare * kEdge + steps - 1) / steps;
  const float* ahead = c + kSquare;
  for (int l = 0; l < steps; l += kEdge, a += kEdge, panel += kEdge * kSquare) {
    for (int i = 0; i < rows_ahead; ++i, ahead += c_row) {
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + kEdge);
    }
    _tile_loadd(4, a, 4 * a_row);
    _tile_loadd(6, panel, 4 * kSquare);
    _tile_dpbf16ps(0, 4, 6);
    if (kRight) {
      _tile_loadd(7, panel + kEdge, 4 * kSquare);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (kLow) {
      _tile_loadd(5, a + kEdge * a_row, 4 * a_row);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (kLow && kRight) _tile_dpbf16ps(3, 5, 7);
  }
}

// Where products and D only add up, sums begin with D; at edges too, through a whole square, so that the bits
// of an element do not depend on where an edge is.
void tile_amx(int rows, int columns, int steps, float alpha, const uint32_t* a, std::ptrdiff_t a_row,
              std::ptrdiff_t /* 1 */, const uint32_t* panel, float beta, const float* d, std::ptrdiff_t d_row,
              float* c, std::ptrdiff_t c_row) {
  alignas(64) float square[kSquare * kSquare];
  const bool low = rows > kEdge, right = columns > kEdge;
  const bool whole = rows % kEdge == 0 && columns % kEdge == 0;
  const bool summed = alpha == 1.0f && beta == 1.0f, alone = alpha == 1.0f && beta == 0.0f;
  const auto for_square = [=](auto visit) {  // visit(row, column, columns)
    for (int i = 0; i < rows; ++i) {
      visit(i, 0, right ? kEdge : columns);
      if (right) visit(i, kEdge, columns - kEdge);
    }
  };
  configure_tiles();
  if (!summed) {
    zero_sums();
  } else if (whole) {
    load_sums(low, right, d, d_row);
  } else {
    for_square([&](int i, int j, int n) {
      store(square + i * kSquare + j, load_part(d + i * d_row + j, static_cast<size_t>(n)));
    });
    for (int i = rows; i < kSquare; ++i)
      for (int j = 0; j < kSquare; j += kLanes) store(square + i * kSquare + j, Floats{});
    load_sums(low, right, square, kSquare);
  }

  if (low && right)
    add_products<true, true>(steps, a, a_row, panel, c, c_row);
  else if (right)
    add_products<false, true>(steps, a, a_row, panel, c, c_row);
  else if (low)
    add_products<true, false>(steps, a, a_row, panel, c, c_row);
  else
    add_products<false, false>(steps, a, a_row, panel, c, c_row);

  if (whole && (summed || alone)) return store_sums(low, right, c, c_row);
  store_sums(low, right, square, kSquare);
  for_square([&](int i, int j, int n) {
    const auto count = static_cast<size_t>(n);
    Floats sum = load(square + i * kSquare + j);
    if (!summed && !alone) sum *= alpha;
    if (!summed && beta != 0.0f) sum += beta * load_part(d + i * d_row + j, count);
    store_part(c + i * c_row + j, sum, count);
  });
}

constexpr SimdKernels with_tiles(SimdKernels kernels) {
  kernels.bf16_tile_rows = kernels.bf16_tile_columns = kSquare;
  kernels.bf16_padding = kEdge;
  kernels.tile_bf16 = tile_amx;
  return kernels;
}
constexpr SimdKernels kTileKernels = with_tiles(kKernels);

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);  // AMX-BF16, AMX-TILE
}

// Linux gives a process the memory to save tiles in when it asks for it, and refuses where a signal stack of
// the process is too small for it.
bool system_permits_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool permitted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return permitted;
}

}  // namespace

const SimdKernels* simd_kernels_amxbf16() {
  return processor_has_tiles() && system_permits_tiles() ? &kTileKernels : nullptr;
}
}  // namespace psm::nn
#else
namespace psm::nn {
const SimdKernels* simd_kernels_amxbf16() { return nullptr; }
}  // namespace psm::nn
#endif
