#include "nn/kernels/gemm.h"

#include <algorithm>
#include <cstdint>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

int rounded_up(int count, int unit) { return (count + unit - 1) / unit * unit; }
int pairs_of(int count) { return (count + 1) / 2; }

constexpr int kPackedBytes = 512 << 10;    // of B packed at once
constexpr int kPanelBytes = 1024;          // of a column of a panel: 32 columns stay in the first-level cache
constexpr int kRowBlock = 72;              // rows of C in one task at most
constexpr double kParallelWork = 1 << 18;  // multiply-adds below which one thread is quicker

// Memory for the packed factors of a product. It only grows, so products of the same sizes allocate nothing.
thread_local Buffer panels_buffer, rows_buffer, turned_buffer;

// Returns undefined items, aligned to 64 bytes. Earlier items are lost if the buffer had to grow.
template <typename Item>
Item* at_least(Buffer& buffer, size_t count) {
  const size_t words = (count * sizeof(Item) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  if (words > buffer.size()) buffer = Buffer(words);
  return reinterpret_cast<Item*>(buffer.data());
}

// A factor: element (i, l) of op(A) or (j, l) of op(B)', l the index that is summed over, is
// first[i * stride + l * step]; one of the two is 1.
struct Factor {
  const float* first;
  std::ptrdiff_t stride, step;

  // Factors of a matrix that is read along its rows as the sum goes on, or across them.
  static Factor along(Matrix<float> x) { return {x.values, x.row, 1}; }
  static Factor across(Matrix<float> x) { return {x.values, 1, x.row}; }

  Factor from(std::ptrdiff_t i, std::ptrdiff_t l) const {
    return {first + i * stride + l * step, stride, step};
  }
};

// What kernels read of op(A): element (i, l) is first[i / block * block_stride + i % block * row_stride +
// l * step_stride], for blocks of rows.
template <typename Item>
struct Rows {
  const Item* first;
  std::ptrdiff_t row_stride, step_stride, block_stride;
};

// Products of fp32 numbers.
struct Fp32Operands {
  typedef float Item;
  static constexpr int kDepth = 1;  // of a step
  static constexpr auto tile = &SimdKernels::tile;
  static constexpr auto tile_rows = &SimdKernels::tile_rows;
  static constexpr auto tile_columns = &SimdKernels::tile_columns;

  static int steps(const SimdKernels&, int depth) { return depth; }

  // Panels of `width` columns, one behind the other: panel[l * width + j] <- element (j, l), zero behind the
  // last column.
  static void pack_panels(const SimdKernels& kernels, Factor b, int depth, int columns, int width,
                          float* packed) {
    const std::ptrdiff_t panel = static_cast<std::ptrdiff_t>(depth) * width;
    if (columns % width != 0) std::fill_n(packed + columns / width * panel, panel, 0.0f);
    if (b.step != 1) return copy_panels(kernels, b, depth, columns, width, packed);
    for (int j = 0; j < columns; j += width, packed += panel)
      kernels.transpose(reinterpret_cast<const uint32_t*>(b.first + j * b.stride), b.stride,
                        std::min(width, columns - j), depth, reinterpret_cast<uint32_t*>(packed), width);
  }

  // For several panels A is packed: in place its rows, where they are a power of two long, would lie in the
  // same few sets of the cache, and each step of A' in another line.
  static bool in_place(int panels) { return panels == 1; }
  static Rows<float> rows(const SimdKernels&, Factor a, int depth, int block, const float* packed) {
    if (packed == nullptr) return {a.first, a.stride, a.step, block * a.stride};
    const std::ptrdiff_t whole = static_cast<std::ptrdiff_t>(block) * depth;
    if (a.step == 1) return {packed, depth, 1, whole};
    return {packed, 1, block, whole};
  }
  static void pack_rows(const SimdKernels& kernels, Factor a, int depth, int rows, int block, float* packed) {
    if (a.step != 1) return copy_panels(kernels, a, depth, rows, block, packed);
    for (int i = 0; i < rows; ++i, packed += depth) std::copy_n(a.first + i * a.stride, depth, packed);
  }

 private:
  // Copies the panels of a factor whose columns are contiguous.
  static void copy_panels(const SimdKernels& kernels, Factor x, int depth, int columns, int width,
                          float* packed) {
    kernels.copy_panels(reinterpret_cast<const uint32_t*>(x.first), x.step, depth, columns,
                        reinterpret_cast<uint32_t*>(packed), width,
                        static_cast<std::ptrdiff_t>(depth) * width);
  }
};

// Products of fp32 numbers rounded to bf16, two at a time.
struct Bf16Operands {
  typedef uint32_t Item;
  static constexpr int kDepth = 2;
  static constexpr auto tile = &SimdKernels::tile_bf16;
  static constexpr auto tile_rows = &SimdKernels::bf16_tile_rows;
  static constexpr auto tile_columns = &SimdKernels::bf16_tile_columns;

  static int steps(const SimdKernels& kernels, int depth) {
    return rounded_up(pairs_of(depth), kernels.bf16_padding);
  }

  static void pack_panels(const SimdKernels& kernels, Factor b, int depth, int columns, int width,
                          uint32_t* packed) {
    const std::ptrdiff_t panel = static_cast<std::ptrdiff_t>(steps(kernels, depth)) * width;
    for (int j = 0; j < columns; j += width) {
      uint32_t* const begin = packed + j / width * panel;
      std::fill(begin + (columns - j < width ? 0 : pairs_of(depth) * width), begin + panel, 0u);
    }
    if (b.step != 1) return kernels.zip_bf16(b.first, b.step, depth, columns, packed, width, panel);
    auto* const paired = at_least<uint32_t>(turned_buffer, static_cast<size_t>(width) * pairs_of(depth));
    for (int j = 0; j < columns; j += width, packed += panel) {
      const int here = std::min(width, columns - j);
      kernels.pair_bf16(b.first + j * b.stride, b.stride, here, depth, paired, pairs_of(depth));
      kernels.transpose(paired, pairs_of(depth), here, pairs_of(depth), packed, width);
    }
  }

  static bool in_place(int) { return false; }  // it has to be rounded
  // Where operands are padded a kernel takes rows of pairs alone.
  static bool turned(const SimdKernels& kernels, Factor a) { return a.step != 1 && kernels.bf16_padding > 1; }
  static Rows<uint32_t> rows(const SimdKernels& kernels, Factor a, int depth, int block,
                             const uint32_t* packed) {
    const std::ptrdiff_t row_steps = steps(kernels, depth), whole = block * row_steps;
    if (a.step == 1 || turned(kernels, a)) return {packed, row_steps, 1, whole};
    return {packed, 1, block, whole};
  }

  static void pack_rows(const SimdKernels& kernels, Factor a, int depth, int rows, int block,
                        uint32_t* packed) {
    const std::ptrdiff_t row_steps = steps(kernels, depth);
    if (a.step == 1) {
      kernels.pair_bf16(a.first, a.stride, rows, depth, packed, row_steps);
    } else if (!turned(kernels, a)) {
      return kernels.zip_bf16(a.first, a.step, depth, rows, packed, block, block * row_steps);
    } else {
      auto* const zipped = at_least<uint32_t>(turned_buffer, static_cast<size_t>(block) * pairs_of(depth));
      for (int i = 0; i < rows; i += block) {
        const int here = std::min(block, rows - i);
        kernels.zip_bf16(a.from(i, 0).first, a.step, depth, here, zipped, block, 0);
        kernels.transpose(zipped, block, pairs_of(depth), here, packed + i * row_steps, row_steps);
      }
    }
    for (int row = 0; row < rows; ++row)
      std::fill(packed + row * row_steps + pairs_of(depth), packed + (row + 1) * row_steps, 0u);
    std::fill(packed + rows * row_steps, packed + rounded_up(rows, kernels.bf16_padding) * row_steps, 0u);
  }
};

template <typename Operands>
void multiply(Factor a, Factor b, GemmShape shape, float alpha, float beta, const float* d, int d_row,
              float* c, int c_row) {
  typedef typename Operands::Item Item;
  const SimdKernels& kernels = simd_kernels();
  const auto [m, n, k] = shape;
  constexpr int kDepthBlock = kPanelBytes / static_cast<int>(sizeof(Item)) * Operands::kDepth;
  const int width = kernels.*Operands::tile_columns, tile_rows = kernels.*Operands::tile_rows;
  const int row_block = kRowBlock / tile_rows * tile_rows;
  const bool parallel =
      !in_parallel_loop() && static_cast<double>(m) * n * k > kParallelWork && thread_count() > 1;
  const int tasks = (m + row_block - 1) / row_block;
  // Short and wide products (weight gradients) still give every thread something to do.
  const int task_rows = tasks >= 8 || !parallel ? row_block : tile_rows * 2;
  const int row_tasks = (m + task_rows - 1) / task_rows;

  const int column_bytes =
      static_cast<int>(sizeof(Item)) * Operands::steps(kernels, std::min(k, kDepthBlock));
  const int column_block = kPackedBytes / (column_bytes * width) * width;
  const bool in_place = Operands::in_place((n + width - 1) / width);

  for (int depth0 = 0; depth0 < k; depth0 += kDepthBlock) {
    const int depth = std::min(kDepthBlock, k - depth0);
    const int steps = Operands::steps(kernels, depth);
    Item* const packed_rows =
        in_place ? nullptr : at_least<Item>(rows_buffer, static_cast<size_t>(row_tasks) * task_rows * steps);
    const Rows<Item> rows = Operands::rows(kernels, a.from(0, depth0), depth, task_rows, packed_rows);
    const bool first = depth0 == 0;
    const float block_beta = first ? beta : 1.0f;
    const float* const added = first ? d : c;
    const std::ptrdiff_t added_row = first ? d_row : c_row;
    for (int column0 = 0; column0 < n; column0 += column_block) {
      const int columns = std::min(column_block, n - column0);
      const int panels = (columns + width - 1) / width;
      const size_t panel_size = static_cast<size_t>(width) * steps;
      Item* const packed = at_least<Item>(panels_buffer, panels * panel_size);
      // Whole rows of memory as far as possible: those of a transposed factor are cut into panels as they are
      // read.
      const auto pack = [&](int part, int parts) {
        const int begin = panels * part / parts * width, end = panels * (part + 1) / parts * width;
        if (begin < end)
          Operands::pack_panels(kernels, b.from(column0 + begin, depth0), depth,
                                std::min(end, columns) - begin, width,
                                packed + begin * std::ptrdiff_t(steps));
        const int top = row_tasks * part / parts * task_rows,
                  low = row_tasks * (part + 1) / parts * task_rows;
        if (column0 == 0 && !in_place && top < low)
          Operands::pack_rows(kernels, a.from(top, depth0), depth, std::min(low, m) - top, task_rows,
                              packed_rows + top * std::ptrdiff_t(steps));
      };
      const auto multiply_rows = [&](int task) {
        const int begin = task * task_rows, end = std::min(begin + task_rows, m);
        const Item* source = rows.first + task * rows.block_stride;
        for (int row = begin; row < end; row += tile_rows, source += tile_rows * rows.row_stride)
          for (int p = 0; p < panels; ++p) {
            const int column = column0 + p * width;
            (kernels.*Operands::tile)(std::min(tile_rows, end - row), std::min(width, n - column), steps,
                                      alpha, source, rows.row_stride, rows.step_stride,
                                      packed + p * panel_size, block_beta, added + row * added_row + column,
                                      added_row, c + static_cast<std::ptrdiff_t>(row) * c_row + column,
                                      c_row);
          }
      };
      if (!parallel) {
        pack(0, 1);
        for (int task = 0; task < row_tasks; ++task) multiply_rows(task);
        continue;
      }
      const int parts = thread_count();
      parallel_for(0, static_cast<size_t>(parts), [&](size_t part) { pack(static_cast<int>(part), parts); });
      parallel_for(0, static_cast<size_t>(row_tasks),
                   [&](size_t task) { multiply_rows(static_cast<int>(task)); });
    }
  }
}

}  // namespace

void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, float alpha, Matrix<float> a,
               Matrix<float> b, float beta, const float* d, int d_row, float* c, int c_row) {
  const Factor left = ta == Transpose::kNo ? Factor::along(a) : Factor::across(a);
  const Factor right = tb == Transpose::kNo ? Factor::across(b) : Factor::along(b);
  const auto product = precision == Precision::kBf16 ? multiply<Bf16Operands> : multiply<Fp32Operands>;
  product(left, right, shape, alpha, beta, d, d_row, c, c_row);
}

void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, double alpha,
               Matrix<double> a, Matrix<double> b, double beta, const double* d, int d_row, double* c,
               int c_row) {
  PSM_CHECK(precision == Precision::kFp32);
  for (int i = 0; i < shape.m; ++i)
    for (int j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int l = 0; l < shape.k; ++l) {
        const double x = ta == Transpose::kNo ? a.values[i * a.row + l] : a.values[l * a.row + i];
        const double y = tb == Transpose::kNo ? b.values[l * b.row + j] : b.values[j * b.row + l];
        sum += x * y;
      }
      c[i * c_row + j] = alpha * sum + (beta == 0 ? 0.0 : beta * d[i * d_row + j]);
    }
}

}  // namespace psm::nn
