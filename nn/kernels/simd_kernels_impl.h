// The kernels of simd_kernels.h for vectors of PSM_LANES floats, compiled for each instruction set with its own
// flags. So everything here and in the headers that it includes has internal linkage and calls no inline
// function of a library: the linker could keep the copy compiled with these flags for all.
#include "nn/kernels/simd_kernels.h"
#include "nn/kernels/simd_products_impl.h"
#include "nn/kernels/simd_rows_impl.h"

namespace psm::nn {
namespace {

constexpr SimdKernels kKernels = {
    .name = PSM_SIMD_NAME,
    .tile_rows = kTileRows,
    .tile_columns = kTileColumns,
    .bf16_tile_rows = kTileRows,
    .bf16_tile_columns = kTileColumns,
    .bf16_padding = 1,
    .tile = tile_dispatch<Fp32>,
    .tile_bf16 = tile_dispatch<Bf16Pairs>,
    .copy_panels = zip_rows<CopiedRows>,
    .zip_bf16 = zip_rows<Fp32Rows>,
    .pair_bf16 = pair_bf16_of,
    .transpose = transpose_of,
    .rows = {swish_array, swish_vjp_array, highest_of, magnitude_of, peak_of, dot_of, scale_of,
             exponentials_above, softmax_vjp_of, powers_of, powers_vjp_of, accumulate_of, moments_of,
             standardise_of, standardise_vjp_of},
    .adamw = adamw_of};

}  // namespace
}  // namespace psm::nn
