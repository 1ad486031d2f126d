// The timer of //cmd:bench: medians and minima of repeated runs.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

struct SuiteOptions {
  // Runs of an operation, warm passes of a model.
  int repetitions = 7;
  // Runs of bootstraps and of making their keys; of a model, bootstraps after each pass.
  int bootstrap_repetitions = 3;
  // Is told what is measured next.
  std::function<void(const std::string& what)> starting = [](const std::string&) {};
};

struct Times {
  double median = 0, least = 0;  // seconds
};

// Summarises at least one run, in any order. The median of an even number is the later of the middle two.
inline Times times_of(std::vector<double> seconds) {
  PSM_CHECK(!seconds.empty());
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front()};
}

// At least `runs` runs, and more until `total` seconds are over.
template <typename Body>
Times time_runs(int runs, double total, const Body& body) {
  std::vector<double> seconds;
  const double start = seconds_now();
  while (static_cast<int>(seconds.size()) < runs || seconds_now() - start < total) {
    const double begin = seconds_now();
    body();
    seconds.push_back(seconds_now() - begin);
  }
  return times_of(std::move(seconds));
}

// The same after a run that is not counted. Short runs are repeated for a fifth of a second.
template <typename Body>
Times measure(int runs, const Body& body) {
  body();
  return time_runs(runs, 0.2, body);
}

}  // namespace psm::cmd
