// Solution 5: a matrix by baby and giant steps.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ckks/scheme/testing/test_party.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

template <typename Server>
Ciphertext baby_and_giant_steps(Server& server, const Ciphertext& x,
                                const std::vector<Slots>& diagonals, int babies) {
  const int n = static_cast<int>(diagonals.size());
  std::vector<Ciphertext> turned;
  for (int b = 0; b < babies; ++b) turned.push_back(server.rotate(x, b));
  std::optional<Ciphertext> y;
  for (int giant = 0; giant < n; giant += babies) {
    std::optional<Ciphertext> sum;
    for (int b = 0; b < babies; ++b) {
      Slots d = diagonals[giant + b];
      std::rotate(d.begin(), d.end() - giant, d.end());
      server.add(sum, server.multiply(turned[b], d));
    }
    server.add(y, server.rotate(*sum, giant));
  }
  return std::move(*y);
}

}  // namespace psm::lesson
