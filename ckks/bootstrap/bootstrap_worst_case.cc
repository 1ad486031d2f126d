#include "ckks/bootstrap/bootstrap_worst_case.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/linalg/transform_worst_case.h"
#include "ckks/poly/series_worst_case.h"

namespace psm::ckks {
namespace {

SlotBound through(const WorstCaseModel& model, const std::vector<PlacedTransform>& transforms, SlotBound x) {
  for (const PlacedTransform& t : transforms) {
    x = worst_case_transform(model, t.transform, t.schedule, t.level, t.input_scale, t.output_scale,
                             {&x, 1})[0];
  }
  return x;
}

}  // namespace

double worst_case_bootstrap(const WorstCaseModel& model, const BootstrapPlan& plan, double error) {
  const Context& context = plan.context();
  const EvalMod& eval_mod = plan.eval_mod().polynomial();
  SlotBound x{std::numbers::sqrt2, error};
  x.error += model.key_switch(plan.entry_level(), context.scale(plan.entry_level()));
  x = through(model, plan.slots_to_coeffs(), x);

  // t = m + q_0 I has coefficients of at most (K + 1/2) q_0, so slots of N times that.
  const Scale lowered = lowered_scale(context);
  const Scale raised = plan.eval_mod().raised_scale();
  x.error = (x.error + model.switch_to_ephemeral(lowered)) * lowered / raised +
            model.key_switch(context.max_level(), raised);
  x.size = context.n() * (eval_mod.spec().k + 0.5) / (2 * eval_mod.half_width());
  x = through(model, plan.coeffs_to_slots(), x);

  Level level = context.evalmod_level();
  double e = 2 * x.error + model.key_switch(level, context.scale(level));
  e = worst_case_series(model, plan.eval_mod().series(), e);
  level = plan.eval_mod().series().nodes.back().level;
  Scale scale = plan.eval_mod().series().nodes.back().scale;
  for (const double lambda : eval_mod.lambdas()) {
    const double size = std::sqrt(2 * lambda) * (1 + 0x1p-6);  // lambda_{k-1}
    const Scale product_scale = scale * scale;
    scale = after_rescale(product_scale, context.q(level));
    e = WorstCaseModel::product(size, e, size, e) + model.key_switch(level, product_scale) +
        model.rescale(scale);
    --level;
  }
  e *= scale / context.scale(plan.output_level());

  double fit = 0;
  for (int i = -eval_mod.spec().k; i <= eval_mod.spec().k; ++i) fit = std::max(fit, eval_mod.max_error(i));
  return e + 2 * fit;
}

}  // namespace psm::ckks
