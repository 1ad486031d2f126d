// Exercise 5: a matrix by baby and giant steps.
#pragma once

#include <optional>
#include <vector>

#include "ckks/scheme/testing/test_party.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

// Returns y = sum_k d_k . rot_k(x), with k = g B + b, 0 <= b < B = `babies`, as
//     y = sum_g rot_{g B}( sum_b rot_{-g B}(d_{g B + b}) . rot_b(x) )
// Each rot_b(x) is computed once; rot_{-g B} of a diagonal is plain: std::rotate.
// You need: server.rotate(c, k), server.multiply(c, diagonal) and server.add(sum, c),
// which adds c to a std::optional<Ciphertext> that is empty at first.
template <typename Server>
Ciphertext baby_and_giant_steps(Server& server, const Ciphertext& x,
                                const std::vector<Slots>& diagonals, int babies) {
  throw ToDo{"baby_and_giant_steps() in cmd/lessons/exercises/5_matrix.h"};
}

}  // namespace psm::lesson
