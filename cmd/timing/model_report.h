// What the suite `model` measured (model_suite.h), for people and for machines, next to the paper's seconds.
//
// The paper (app. he-param) runs Pythia 70M with 128 tokens on one A100; its figures stand only next to a run
// of that shape with all its layers. It counts bootstraps inside a function with the function: ours are all
// in the row of bootstraps.
#pragma once

#include <string>

#include "ckks/base/files/json.h"
#include "cmd/timing/model_suite.h"

namespace psm::cmd {

struct ModelRun {
  std::string shape;         // a published shape's name, or the model's file
  bool as_in_paper = false;  // Pythia 70M, six layers, 128 tokens
  const Deployment& deployment;
  size_t prompts;
  const ModelTimes& times;
};

struct ModelReport {
  std::string text;
  Json json;
};
ModelReport model_report(const ModelRun& run);

}  // namespace psm::cmd
