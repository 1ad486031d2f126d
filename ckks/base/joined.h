// Lists in messages, and tables whose entries have names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ckks/base/error.h"

namespace psm {

// The items of a range with `between` between them; of more than `most`, how many more there are.
template <typename Range, typename Projection = std::identity>
std::string joined(Range&& range, std::string_view between = ", ", Projection projection = {},
                   size_t most = SIZE_MAX) {
  std::string text;
  size_t count = 0;
  for (const auto& item : range)
    if (++count <= most) text += message(count > 1 ? between : "", std::invoke(projection, item));
  return count > most ? message(text, " and ", count - most, " more") : text;
}

// The entry of this name. Throws Error that names all of them; `what` is an entry's kind.
template <typename Table, typename Projection>
const auto& named(const Table& table, std::string_view name, Projection projection, const char* what) {
  for (const auto& entry : table)
    if (std::invoke(projection, entry) == name) return entry;
  throw Error(message("there is no ", what, " '", name, "'; there are: ", joined(table, ", ", projection)));
}

}  // namespace psm
