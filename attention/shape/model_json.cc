#include "attention/shape/model_json.h"

#include <optional>
#include <type_traits>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"

namespace psm::attention {
namespace {

template <typename Value>
Json to_json(const Value& value);
template <typename Value>
void from_json(const Json& json, const std::string& what, Value& value);

// One description reads and writes a struct: describe(members, value) names its members.
struct Members {
  const Json* read = nullptr;  // null: they are written
  std::string what = {};
  Json written = Json::Object{};

  template <typename Value>
  void operator()(const char* key, Value& value) {
    if (read)
      from_json(read->at(key, what), message(what, ", ", key), value);
    else
      written[key] = to_json(value);
  }
  void optional(const char* key, std::optional<double>& value) {
    if (read ? read->find(key) == nullptr : !value) return;
    if (!value) value = 0;
    (*this)(key, *value);
  }
  template <typename Value>
  void or_zero(const char* key, Value& value) {
    if (read ? read->find(key) != nullptr : value != 0) (*this)(key, value);
  }
};

void describe(Members& members, ModelConfig& config) {
  members("vocab", config.vocab);
  members("context", config.context);
  members("layers", config.layers);
  members("width", config.width);
  members("heads", config.heads);
  members("ffn", config.ffn);
  members("rotary_fraction", config.rotary_fraction);
  members("rotary_base", config.rotary_base);
  members("attention", config.attention);
  members("form", config.form);
  members("power", config.power);
  members("epsilon", config.epsilon);
  members("stable_delta", config.stable_delta);
  members("norm_epsilon", config.norm_epsilon);
  members("block", config.block);
  members("norm", config.norm);
  members("feed_forward", config.feed_forward);
  members("positions", config.positions);
  members("causal", config.causal);
  members("biases", config.biases);
  members("kv_heads", config.kv_heads);
  members("classes", config.classes);
  members("pooler", config.pooler);
  members("patch_inputs", config.patch_inputs);
  members("score_offset", config.score_offset);
  members.or_zero("separator", config.separator);
  members.or_zero("mean_pooling", config.mean_pooling);
}

void describe(Members& members, LayerRanges& layer) {
  members("variance", layer.variance);
  members("denominator", layer.denominator);
  members("score", layer.score);
  members("gelu_input", layer.gelu_input);
  members("second_variance", layer.second_variance);
}

void describe(Members& members, Ranges& ranges) {
  members("residual", ranges.residual);
  members("layers", ranges.layers);
  members("final_variance", ranges.final_variance);
  members("pooler_input", ranges.pooler_input);
}

void describe(Members& members, PolynomialOptions& options) {
  members.optional("margin", options.margin);
  members("norm_error", options.norm_error);
  members("inverse_error", options.inverse_error);
  members("gelu_error", options.gelu_error);
  members("division", options.division);
}

template <typename Value>
Json to_json(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return value;
  } else if constexpr (requires { value.lo; }) {
    return Json::Array{value.lo, value.hi};
  } else if constexpr (requires { value.begin(); }) {
    Json::Array items;
    for (const auto& item : value) items.push_back(to_json(item));
    return items;
  } else {
    Members members;
    Value described = value;
    describe(members, described);
    return members.written;
  }
}

template <typename Value>
void from_json(const Json& json, const std::string& what, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    value = named<Value>(json.string(what));
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = json.truth(what);
  } else if constexpr (std::is_integral_v<Value>) {
    value = static_cast<Value>(json.integer(what, 0, kMostSize));
  } else if constexpr (std::is_floating_point_v<Value>) {
    value = json.number(what);
  } else if constexpr (requires { value.lo; }) {
    const Json::Array& ends = json.array(what);
    if (ends.size() != 2)
      throw Error(message(what, ": an interval of ", ends.size(), " numbers; give its two ends"));
    value = {ends[0].number(what), ends[1].number(what)};
    if (!(value.lo <= value.hi))
      throw Error(
          message(what, ": an interval from ", value.lo, " to ", value.hi, "; give the lesser end first"));
  } else if constexpr (requires { value.begin(); }) {
    value.clear();
    for (const Json& item : json.array(what)) from_json(item, what, value.emplace_back());
  } else {
    Members members{.read = &json, .what = what};
    describe(members, value);
  }
}

}  // namespace

std::string config_to_json(const ModelConfig& config) { return to_json(config).dump(0); }

ModelConfig config_from_json(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what);
  ModelConfig config;
  prefixed(what, [&] {
    from_json(json, "model configuration", config);
    config.validate();
  });
  return config;
}

Json ranges_to_json(const Ranges& ranges) { return to_json(ranges); }

Ranges ranges_from_json(const Json& json, const ModelConfig& config) {
  Ranges ranges;
  from_json(json, "ranges of the model", ranges);
  check_shape(ranges, config);
  return ranges;
}

Json options_to_json(const PolynomialOptions& options) { return to_json(options); }

PolynomialOptions options_from_json(const Json& json) {
  PolynomialOptions options;
  from_json(json, "options of the polynomials", options);
  return options;
}

}  // namespace psm::attention
