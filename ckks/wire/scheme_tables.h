// Parts that several files have in their tables (tables.h): parameters, levels, and the keys of a program.
#pragma once

#include <set>
#include <vector>

#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/chain/parameters.h"
#include "ckks/scheme/chain/scale.h"
#include "ckks/wire/tables.h"

namespace psm::wire {

template <typename Tables>
void describe(Tables& t, ckks::ParameterSpec& s) {
  name(t, s.name);
  for_each_number(s, [&](int& number) { t.number(number); });
  flag(t, s.insecure);
}

template <typename Tables>
void describe(Tables& t, ckks::Level& level) {
  int number = level;
  t.number(number);
  if constexpr (Tables::kReads) level = ckks::Level::at(number);
}

template <typename Tables>
void describe(Tables& t, std::set<ckks::Level>& levels) {
  std::vector<ckks::Level> all(levels.begin(), levels.end());
  list(t, all, 4, [&](ckks::Level& one) { describe(t, one); });
  if constexpr (!Tables::kReads) return;
  levels = {all.begin(), all.end()};
  if (levels.size() != all.size()) t.refuse("it asks for a key twice; make it again");
}

template <typename Tables>
void describe(Tables& t, ckks::KeyRequest& keys) {
  describe(t, keys.relinearisation_levels);
  for (auto* turned : {&keys.galois_levels, &keys.raised_levels})
    map(t, *turned, 12, [&](auto& element, auto& levels) { t.number(element), describe(t, levels); });
}

}  // namespace psm::wire
