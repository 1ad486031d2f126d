#include "cmd/client/client_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "attention/shape/config_json.h"
#include "ckks/base/error.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

constexpr int kMostTokens = 1 << 20;
constexpr int64_t kMostOfImage = int64_t{1} << 30;  // numbers; they are counted in ints

// What follows the head; `config`, `tokens` and `prompts` say the model and its packing.
template <typename Tables>
void describe(Tables& t, ClientFile& file, std::string& config, int& tokens, int& prompts) {
  t.number(file.logit_error);
  std::vector<std::pair<std::string, std::string>> notes(file.notes.begin(), file.notes.end());
  wire::list(t, notes, 8, [&](auto& note) { wire::name(t, note.first), t.text(note.second); });
  file.notes = {notes.begin(), notes.end()};
  Answers& answers = file.answers;
  wire::list(t, answers.symbols, 4, [&](std::string& symbol) { t.text(symbol); });
  wire::list(t, answers.short_symbols, 1, [&](char& is_short) {
    bool value = is_short != 0;
    wire::flag(t, value);
    is_short = static_cast<char>(value);
  });
  wire::flag(t, answers.words);
  wire::integer(t, answers.first), wire::integer(t, answers.step);
  t.text(config);
  wire::integer(t, tokens), wire::integer(t, prompts);
  wire::flag(t, file.model.sends_normalised);
  wire::list(t, file.model.residual_scale, 8, [&](double& scale) { t.number(scale); });
  wire::list(t, file.weights, 8, [&](ClientWeight& weight) {
    wire::name(t, weight.name);
    wire::list(t, weight.period, 8, [&](std::complex<double>& value) {
      auto re = static_cast<float>(value.real()), im = static_cast<float>(value.imag());
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

template <typename Tables>
void describe_lists(Tables& t, attention::ClientModel& model) {
  attention::ClientModel::for_each_list(
      model, [&](const char* name, std::vector<float>& values, size_t wanted) {
        wire::list(t, values, 4, [&](float& value) { t.number(value); });
        if constexpr (Tables::kReads) {
          if (values.size() != wanted)
            t.refuse(message("its ", name, " has ", values.size(), " numbers of ", wanted,
                             "; compile the model again"));
          if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
            t.refuse(message("its ", name, " is not finite; compile the model again"));
        }
      });
}

}  // namespace

void write_client_file(const std::string& path, ClientFile& own) {
  std::string config = attention::config_to_json(own.model.config);
  int tokens = own.model.packing.tokens, prompts = own.model.packing.prompts;
  if (own.model.packing.length > 0) tokens = own.model.packing.length;
  wire::TableWriter tables;
  write_client_head(own, tables);
  describe(tables, own, config, tokens, prompts);
  describe_lists(tables, own.model);
  save_client_tables(path, own, tables);
}

ClientFile read_client_file(const std::string& path) {
  ClientFile file;
  ClientTables content(path, file);
  wire::TableReader& tables = content.rest();
  std::string config;
  int tokens = 0, prompts = 0;
  describe(tables, file, config, tokens, prompts);
  for (const ClientWeight& weight : file.weights) {
    if (!std::has_single_bit(weight.period.size()) ||
        weight.period.size() > static_cast<size_t>(file.context->slots()))
      tables.refuse(message("the weight ", weight.name, " is no period of slots"));
    for (const std::complex<double>& value : weight.period)
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
        tables.refuse(message("the weight ", weight.name, " is not finite"));
  }
  if (!std::isfinite(file.logit_error) || file.logit_error < 0)
    tables.refuse("the predicted error of a logit is no size");
  if (tokens < 1 || tokens > kMostTokens || prompts < 1 || prompts > kMostTokens)
    tables.refuse("it has no places for prompts");
  try {
    file.model.config = attention::config_from_json(config, "the configuration");
    file.model.packing = attention::make_packing(file.model.config, tokens,
                                                 static_cast<size_t>(file.context->slots()), prompts);
  } catch (const Error& error) {
    tables.refuse(message("its model is refused: ", error.what()));
  }
  const Answers& answers = file.answers;
  const size_t wanted = file.model.config.classes > 0 ? 0 : static_cast<size_t>(file.model.config.vocab);
  if (answers.symbols.size() != wanted || answers.short_symbols.size() != wanted || answers.first < 0 ||
      answers.step < 1 || answers.step > kMostTokens)
    tables.refuse("its answers are not those of its model");
  for (const std::string& symbol : answers.symbols)
    if (std::any_of(symbol.begin(), symbol.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
      tables.refuse("a token's text has control characters");
  const attention::ModelConfig& shape = file.model.config;
  if (int64_t{shape.context} * shape.patch_inputs > kMostOfImage) tables.refuse("its images are too large");
  if (file.model.residual_scale.size() != static_cast<size_t>(shape.width))
    tables.refuse("its residual ranges are not those of its model");
  for (const double scale : file.model.residual_scale)
    if (!std::isfinite(scale) || scale <= 0) tables.refuse("a residual range is not positive");
  describe_lists(tables, file.model);
  if (!tables.at_end()) tables.refuse("there is more in it than it says; compile the model again");
  return file;
}

}  // namespace psm::cmd
