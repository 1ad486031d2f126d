// Every block program, in one list: a device that compiles programs ahead, as CUDA does, has one entry for
// each, and a launch names its place in the list.
#pragma once

#include <cstddef>
#include <type_traits>

#include "ckks/device/programs/combine.h"
#include "ckks/device/programs/convert.h"
#include "ckks/device/programs/divide_rows.h"
#include "ckks/device/programs/encode.h"
#include "ckks/device/programs/key_product.h"
#include "ckks/device/programs/matrix_product.h"
#include "ckks/device/programs/ntt.h"

namespace psm::ckks {

template <class... Programs>
struct ProgramList {
  static constexpr size_t kCount = sizeof...(Programs);

  template <class Program>
  static constexpr size_t index_of() {
    static_assert((std::is_same_v<Program, Programs> || ...), "the program is in no list");
    size_t index = 0, found = 0;
    ((found = std::is_same_v<Program, Programs> ? index : found, ++index), ...);
    return found;
  }
  // {f<first>, f<second>, ...} for a template of entries with a static member `run`.
  template <template <class> class Entry, class Function>
  struct Table {
    static constexpr Function kEntries[] = {&Entry<Programs>::run...};
  };
};

using AllPrograms =
    ProgramList<NttColumns<2, NttDirection::kForward>, NttColumns<3, NttDirection::kForward>,
                NttColumns<4, NttDirection::kForward>, NttColumns<5, NttDirection::kForward>,
                NttColumns<6, NttDirection::kForward>, NttColumns<7, NttDirection::kForward>,
                NttColumns<8, NttDirection::kForward>, NttColumns<2, NttDirection::kInverse>,
                NttColumns<3, NttDirection::kInverse>, NttColumns<4, NttDirection::kInverse>,
                NttColumns<5, NttDirection::kInverse>, NttColumns<6, NttDirection::kInverse>,
                NttColumns<7, NttDirection::kInverse>, NttColumns<8, NttDirection::kInverse>,
                NttRows<NttDirection::kForward>, NttRows<NttDirection::kInverse>, ConvertColumns<2>,
                ConvertColumns<3>, ConvertColumns<4>, ConvertColumns<5>, ConvertColumns<6>, ConvertColumns<7>,
                ConvertColumns<8>, KeyRows, DivideRows, KeyProduct, Combine, GaussianProduct, ProductSums,
                PlainProduct, MatrixProduct, EncodeBlock, ReduceCoefficients, SpreadValues>;

}  // namespace psm::ckks
