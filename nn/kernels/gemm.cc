#include "nn/kernels/gemm.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

constexpr int kDepthBlock = 256;   // rows of B in a panel: 256 x 32 floats stay in the first-level cache
constexpr int kColumnBlock = 512;  // columns of B packed at once: 512 KiB
constexpr int kRowBlock = 64;      // rows of C in one task
constexpr double kParallelWork = 1 << 18;  // multiply-adds below which one thread is quicker

struct AlignedFree {
  void operator()(float* p) const { std::free(p); }
};

// Memory that only grows.
class PackingBuffer {
 public:
  float* at_least(size_t count) {
    if (count > capacity_) {
      capacity_ = (count + 15) / 16 * 16;
      buffer_.reset(static_cast<float*>(std::aligned_alloc(64, capacity_ * sizeof(float))));
      PSM_CHECK(buffer_ != nullptr, capacity_, " floats");
    }
    return buffer_.get();
  }

 private:
  std::unique_ptr<float, AlignedFree> buffer_;
  size_t capacity_ = 0;
};

thread_local PackingBuffer panels_buffer, rows_buffer;

// Rows depth x columns first .. first + width of op(B) into one panel, padded with zeros to `panel_width`.
void pack_panel(Transpose tb, const float* b, int b_row, int depth, int width, int panel_width,
                float* panel) {
  if (tb == Transpose::kNo) {
    for (int l = 0; l < depth; ++l, panel += panel_width) {
      const float* row = b + static_cast<std::ptrdiff_t>(l) * b_row;
      std::copy(row, row + width, panel);
      std::fill(panel + width, panel + panel_width, 0.0f);
    }
    return;
  }
  if (width < panel_width) std::fill(panel, panel + static_cast<std::ptrdiff_t>(depth) * panel_width, 0.0f);
  for (int j = 0; j < width; ++j) {
    const float* row = b + static_cast<std::ptrdiff_t>(j) * b_row;
    for (int l = 0; l < depth; ++l) panel[static_cast<std::ptrdiff_t>(l) * panel_width + j] = row[l];
  }
}

// Element (i, l) of some rows of op(A) is first[i * row_stride + l * step_stride].
struct RowsOfA {
  const float* first;
  std::ptrdiff_t row_stride, step_stride;
};

// Rows of A', read once for all panels: in place each step would touch another line and, where A's rows are a
// power of two long, the same few sets of the cache.
RowsOfA pack_rows(RowsOfA source, int rows, int depth) {
  float* const packed = rows_buffer.at_least(static_cast<size_t>(kRowBlock) * kDepthBlock);
  for (int l = 0; l < depth; ++l)
    std::copy(source.first + l * source.step_stride, source.first + l * source.step_stride + rows,
              packed + static_cast<std::ptrdiff_t>(l) * rows);
  return {packed, 1, rows};
}

}  // namespace

void gemm(Transpose ta, Transpose tb, GemmShape shape, float alpha, const float* a, int a_row, const float* b,
          int b_row, float beta, float* c, int c_row) {
  const SimdKernels& kernels = simd_kernels();
  const auto [m, n, k] = shape;
  const std::ptrdiff_t row_stride = ta == Transpose::kNo ? a_row : 1;
  const std::ptrdiff_t step_stride = ta == Transpose::kNo ? 1 : a_row;
  const int width = kernels.tile_columns;
  const bool parallel = !omp_in_parallel() && static_cast<double>(m) * n * k > kParallelWork;
  const int tasks = (m + kRowBlock - 1) / kRowBlock;
  // Short and wide products (weight gradients) still give every thread something to do.
  const int task_rows = tasks >= 8 ? kRowBlock : kernels.tile_rows * 2;
  const int row_tasks = (m + task_rows - 1) / task_rows;

  for (int column0 = 0; column0 < n; column0 += kColumnBlock) {
    const int columns = std::min(kColumnBlock, n - column0);
    const int panels = (columns + width - 1) / width;
    for (int depth0 = 0; depth0 < k; depth0 += kDepthBlock) {
      const int depth = std::min(kDepthBlock, k - depth0);
      float* const packed = panels_buffer.at_least(static_cast<size_t>(panels) * width * depth);
      const float block_beta = depth0 == 0 ? beta : 1.0f;
#pragma omp parallel num_threads(thread_count()) if (parallel)
      {
#pragma omp for schedule(static)
        for (int p = 0; p < panels; ++p) {
          const int column = column0 + p * width;
          const float* source = tb == Transpose::kNo
                                    ? b + static_cast<std::ptrdiff_t>(depth0) * b_row + column
                                    : b + static_cast<std::ptrdiff_t>(column) * b_row + depth0;
          pack_panel(tb, source, b_row, depth, std::min(width, n - column), width,
                     packed + static_cast<std::ptrdiff_t>(p) * width * depth);
        }
#pragma omp for schedule(static)
        for (int task = 0; task < row_tasks; ++task) {
          const int begin = task * task_rows, rows = std::min(task_rows, m - begin);
          RowsOfA source{a + begin * row_stride + depth0 * step_stride, row_stride, step_stride};
          if (ta == Transpose::kYes && panels > 1) source = pack_rows(source, rows, depth);
          for (int p = 0; p < panels; ++p) {
            const int column = column0 + p * width;
            for (int row = 0; row < rows; row += kernels.tile_rows) {
              kernels.tile(std::min(kernels.tile_rows, rows - row), std::min(width, n - column), depth, alpha,
                           source.first + row * source.row_stride, source.row_stride, source.step_stride,
                           packed + static_cast<std::ptrdiff_t>(p) * width * depth, block_beta,
                           c + static_cast<std::ptrdiff_t>(begin + row) * c_row + column, c_row);
            }
          }
        }
      }
    }
  }
}

void gemm(Transpose ta, Transpose tb, GemmShape shape, double alpha, const double* a, int a_row,
          const double* b, int b_row, double beta, double* c, int c_row) {
  for (int i = 0; i < shape.m; ++i)
    for (int j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int l = 0; l < shape.k; ++l) {
        const double x = ta == Transpose::kNo ? a[i * a_row + l] : a[l * a_row + i];
        const double y = tb == Transpose::kNo ? b[l * b_row + j] : b[j * b_row + l];
        sum += x * y;
      }
      double& out = c[i * c_row + j];
      out = alpha * sum + (beta == 0 ? 0.0 : beta * out);
    }
}

}  // namespace psm::nn
