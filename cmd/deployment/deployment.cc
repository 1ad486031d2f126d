#include "cmd/deployment/deployment.h"

#include "attention/shape/config_json.h"
#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/server/nominal_costs.h"

namespace psm::cmd {
namespace {

attention::PolynomialModel polynomial_model_of(const attention::Checkpoint& checkpoint) {
  if (!checkpoint.ranges || !checkpoint.polynomial) {
    throw Error("the checkpoint has no polynomial form yet; make one with bazel run //cmd:polynomialise");
  }
  if (checkpoint.weights.config.attention != attention::AttentionKind::kPowerSoftmax) {
    throw Error(
        message("attention ", attention::name_of(checkpoint.weights.config.attention),
                " is polynomial in the clear only; take a power_softmax model for encrypted inference"));
  }
  return attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial);
}

}  // namespace

uint64_t fingerprint_of(const attention::Checkpoint& checkpoint) {
  const std::string config = attention::config_to_json(checkpoint.weights.config);
  uint64_t sum = checksum64(config.data(), config.size());
  attention::for_each_parameter(checkpoint.weights,
                                [&](const std::string&, const std::vector<float>& values, int, int) {
                                  sum = checksum64(values.data(), values.size() * sizeof(float), sum);
                                });
  if (checkpoint.ranges) {
    const std::string ranges = attention::ranges_to_json(*checkpoint.ranges).dump(0);
    sum = checksum64(ranges.data(), ranges.size(), sum);
  }
  if (checkpoint.polynomial) {
    const std::string options = attention::options_to_json(*checkpoint.polynomial).dump(0);
    sum = checksum64(options.data(), options.size(), sum);
  }
  return sum;
}

PackedModel::PackedModel(const attention::Checkpoint& checkpoint, const ckks::Context& context, int prompts)
    : model(polynomial_model_of(checkpoint)),
      packing(attention::make_packing(model.weights.config, model.weights.config.context,
                                      static_cast<size_t>(context.slots()), prompts)),
      model_fingerprint(fingerprint_of(checkpoint)) {}

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec)
    : Deployment(checkpoint, std::make_shared<const ckks::Context>(spec)) {}

Deployment::Deployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> made)
    : PackedModel(checkpoint, *made) {
  context = std::move(made);
  program_id = model_fingerprint;
  if (context->can_bootstrap()) bootstrap = std::make_unique<const ckks::BootstrapPlan>(*context);
  const program::CostModel costs = nominal_costs(*context, bootstrap.get());
  plan = program::plan(attention::build_program(model, packing), program::budget_of(*context), costs);
  reading = program::meter(plan, costs);
  if (plan.bootstraps > 0) bootstrap_error_std = ckks::predict_error(*bootstrap).rms();
  keys = program::key_request(plan, bootstrap.get());
}

}  // namespace psm::cmd
