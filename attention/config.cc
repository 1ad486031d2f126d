#include "attention/config.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include "ckks/base/error.h"

namespace psm {
namespace {

void require(bool good, const std::string& what, const std::string& advice) {
  if (!good) throw Error(message("model configuration: ", what, "; ", advice));
}

bool finite_positive(double x) { return std::isfinite(x) && x > 0; }

constexpr std::pair<AttentionKind, std::string_view> kKinds[] = {
    {AttentionKind::kSoftmax, "softmax"},
    {AttentionKind::kPowerSoftmax, "power_softmax"},
    {AttentionKind::kScaledRelu, "relu"}};
constexpr std::pair<PowerForm, std::string_view> kForms[] = {{PowerForm::kPlain, "plain"},
                                                             {PowerForm::kLipschitz, "lipschitz"},
                                                             {PowerForm::kStable, "stable"},
                                                             {PowerForm::kLengthAgnostic, "length_agnostic"}};

template <typename Table, typename Value>
std::string_view find_name(const Table& table, Value value) {
  for (const auto& [entry, name] : table)
    if (entry == value) return name;
  PSM_CHECK(false, "unnamed value ", static_cast<int>(value));
  return {};
}

template <typename Table>
auto find_value(const Table& table, std::string_view name, std::string_view what) {
  std::string known;
  for (const auto& [entry, entry_name] : table) {
    if (entry_name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry_name);
  }
  throw Error(message("unknown ", what, " \"", name, "\"; use one of: ", known));
}

}  // namespace

void ModelConfig::validate() const {
  constexpr int kMost = 1 << 20;
  for (auto [value, name] : std::initializer_list<std::pair<int, const char*>>{{vocab, "vocab"},
                                                                               {context, "context"},
                                                                               {layers, "layers"},
                                                                               {width, "width"},
                                                                               {heads, "heads"},
                                                                               {ffn, "ffn"}}) {
    require(value >= 1 && value <= kMost, message(name, " = ", value, " is not a size"),
            message("give a number from 1 to ", kMost));
  }
  require(width % heads == 0, message("width ", width, " is not a multiple of heads ", heads),
          "choose a width that the heads divide");
  require(std::isfinite(rotary_fraction) && rotary_fraction >= 0 && rotary_fraction <= 1,
          message("rotary_fraction = ", rotary_fraction, " is not a fraction"), "give a number from 0 to 1");
  require(finite_positive(rotary_base), message("rotary_base = ", rotary_base, " is not positive"),
          "10000 is customary");
  require(power >= 2 && power <= 16 && power % 2 == 0,
          message("power = ", power, " is not an even number from 2 to 16"), "the paper uses 4");
  require(std::isfinite(epsilon) && epsilon >= 0,
          message("epsilon = ", epsilon, " is negative or not a number"), "1e-3 is customary");
  require(finite_positive(stable_delta), message("stable_delta = ", stable_delta, " is not positive"),
          "1e-6 is customary");
  require(finite_positive(norm_epsilon), message("norm_epsilon = ", norm_epsilon, " is not positive"),
          "1e-5 is customary");
}

std::string_view name_of(AttentionKind kind) { return find_name(kKinds, kind); }
std::string_view name_of(PowerForm form) { return find_name(kForms, form); }
AttentionKind attention_kind_from(std::string_view name) { return find_value(kKinds, name, "attention"); }
PowerForm power_form_from(std::string_view name) { return find_value(kForms, name, "PowerSoftmax form"); }

}  // namespace psm
