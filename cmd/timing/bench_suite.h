// The suite `ckks` of //cmd:bench: the operations of the scheme and its bootstrap, timed beside their
// roofline.
//
// Times are by the clock: medians and minima of at least BenchOptions::repetitions runs after one that is not
// counted, and of more where a run is short. A row that is named like an operation of Evaluator times that
// call alone: multiply_relinearise and multiply_plain do not rescale. The two NTT rows take one limb with one
// thread.
//
// Rows, in order: ntt_forward, ntt_inverse, encode (10 limbs), rotate (10, 20), rotate_hoisted (a further
// rotation of a decomposed ciphertext, 20), multiply_relinearise (10, 20), multiply_plain, rescale (20),
// weighted_rotations (8), bootstrap_keygen, bootstrap_full, bootstrap_sparse (2^10 complex values;
// limbs of bootstraps: of their results).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/timing/roofline.h"

namespace psm::cmd {

struct BenchRow {
  std::string name;
  int limbs = 0;
  int threads = 0;
  std::string backend;
  double median_ms = 0, min_ms = 0;
  double bytes = 0, macs = 0;  // roofline.h
  double roofline_ms = 0;
  std::vector<std::pair<std::string, Json>> more;  // what only this row has

  Json json() const;
};

struct BenchOptions {
  int repetitions = 7;
  int bootstrap_repetitions = 3;              // of bootstrap_keygen and the bootstraps
  std::function<void(const char*)> starting;  // told what is measured next; may be empty
};

// The context must be able to bootstrap. With the threads and the backend in use.
std::vector<BenchRow> ckks_suite(const ckks::Context& context, const BenchOptions& options);

// What a run needs at its peak, the bootstrap with its keys; predicted.
size_t ckks_suite_bytes(const ckks::Context& context);

}  // namespace psm::cmd
