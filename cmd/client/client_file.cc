#include "cmd/client/client_file.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"
#include "cmd/protocol/notes.h"

namespace psm::cmd {
namespace {

constexpr int kMost = 1 << 20;                      // of any size of a model
constexpr int64_t kMostOfImage = int64_t{1} << 30;  // numbers; they are counted in ints

template <typename Tables>
void describe(Tables& t, attention::ClientShape& shape) {
  bounded(t, shape.vocab, 0, kMost, "vocabulary");
  bounded(t, shape.context, 1, kMost, "context");
  bounded(t, shape.width, 1, kMost, "width");
  bounded(t, shape.classes, 0, kMost, "number of classes");
  bounded(t, shape.patch_inputs, 0, kMost, "patch");
  bounded(t, shape.power, 1, kMost, "power");
  bounded(t, shape.separator, 0, kMost, "separator");
  t.number(shape.norm_epsilon);
  bool sends_normalised = true;
  for (bool* property : {&shape.removes_mean, &shape.learned_positions, &shape.final_norm, &shape.sends_state,
                         &sends_normalised})
    wire::flag(t, *property);
  if constexpr (!Tables::kReads) return;
  if (!sends_normalised) t.refuse("its client does not send the normalised state");
  if (!std::isfinite(shape.norm_epsilon) || shape.norm_epsilon < 0) t.refuse("its norm divides by no number");
  if ((shape.vocab > 0) == (shape.patch_inputs > 0) || (shape.vocab == 0 && shape.classes == 0))
    t.refuse("its model reads neither tokens nor patches, or both");
  if (shape.vocab == 1 || shape.classes == 1) t.refuse("its model has one answer alone");
  if (int64_t{shape.context} * shape.patch_inputs > kMostOfImage) t.refuse("its images are too large");
  if (shape.separator > 0 && shape.separator >= shape.vocab) t.refuse("its separator is no token");
}

// The layouts follow from the model's shape.
template <typename Tables>
void describe(Tables& t, attention::Places& places) {
  bounded(t, places.tokens, 1, kMost, "number of places");
  bounded(t, places.features, 1, kMost, "number of features");
  bounded(t, places.prompts, 1, kMost, "number of prompts");
  bounded(t, places.length, 0, kMost, "length");
  wire::flag(t, places.causal);
}

template <typename Tables>
void describe(Tables& t, Answers& answers) {
  wire::list(t, answers.symbols, 4, [&](std::string& symbol) {
    t.text(symbol);
    if (Tables::kReads &&
        std::any_of(symbol.begin(), symbol.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
      t.refuse("a token's text has control characters");
  });
  wire::list(t, answers.short_symbols, 1, [&](char& is_short) {
    bool value = is_short != 0;
    wire::flag(t, value);
    is_short = static_cast<char>(value);
  });
  wire::flag(t, answers.words), wire::flag(t, answers.embedding);
  bounded(t, answers.first, 0, kMost, "first answer");
  bounded(t, answers.step, 1, kMost, "step of answers");
}

// What follows the head; `periods`: numbers of complex values of the weights.
template <typename Tables>
void describe(Tables& t, ClientFile& file, std::vector<int>& periods) {
  t.number(file.logit_error);
  if (Tables::kReads && (!std::isfinite(file.logit_error) || file.logit_error < 0))
    t.refuse("the predicted error of a logit is no size");
  t.text(file.prompts);
  describe(t, file.answers);
  describe(t, file.model.shape);
  describe(t, file.model.packing);
  wire::list(t, file.model.residual_scale, 8, [&](double& scale) {
    t.number(scale);
    if (Tables::kReads && (!std::isfinite(scale) || scale <= 0)) t.refuse("a residual range is not positive");
  });
  wire::list(t, file.weights, 8, [&](ClientWeight& weight) { wire::name(t, weight.name); });
  periods.resize(file.weights.size());
  for (int& period : periods) bounded(t, period, 1, kMost, "weight");
}

// What the shape and the ring allow; and the layouts.
void check(ClientFile& file, const wire::TableReader& tables) {
  const attention::ClientShape& shape = file.model.shape;
  attention::Places& places = file.model.packing;
  places.slots = static_cast<size_t>(file.context->slots());
  for (const int count : {places.tokens, places.features, places.prompts})
    if (!std::has_single_bit(static_cast<unsigned>(count))) tables.refuse("its places are no power of two");
  const size_t room = places.slots / static_cast<size_t>(places.tokens);
  if (room / static_cast<size_t>(places.features) < static_cast<size_t>(places.prompts))
    tables.refuse("its prompts do not fit the slots");
  if (shape.context > places.tokens || places.length > places.tokens)
    tables.refuse("its prompts are longer than its places");
  if (file.model.residual_scale.size() != static_cast<size_t>(shape.width))
    tables.refuse("its residual ranges are not those of its model");
  if (shape.classes == 0 && !shape.final_norm) tables.refuse("its language model has no final norm");
  places.state = attention::state_layout(shape.width, places.features);
  places.classes = attention::halves(shape.classes, places.features);
  for (const ClientEntry& entry : file.entries)
    if (entry.inputs.size() < static_cast<size_t>(places.state_ciphertexts()))
      tables.refuse(message("entry point ", entry.name, " takes less than the model's ",
                            places.state_ciphertexts(), " ciphertexts"));
  const size_t symbols = shape.classes > 0 ? 0 : static_cast<size_t>(shape.vocab);
  if (file.answers.symbols.size() != symbols || file.answers.short_symbols.size() != symbols ||
      (file.answers.embedding && shape.classes == 0))
    tables.refuse("its answers are not those of its model");
}

}  // namespace

std::vector<std::complex<double>> ClientWeight::slots(size_t count) const {
  std::vector<std::complex<double>> all(count);
  for (size_t slot = 0; slot < count; ++slot) all[slot] = period[slot % period.size()];
  return all;
}

void write_client_file(const std::string& path, ClientFile& own) {
  std::vector<int> periods;
  for (const ClientWeight& weight : own.weights) periods.push_back(static_cast<int>(weight.period.size()));
  wire::TableWriter tables;
  write_client_head(own, tables);
  describe(tables, own, periods);
  std::vector<std::span<const float>> lists;
  attention::ClientModel::for_each_list(own.model, [&](const char*, const std::vector<float>& values, size_t,
                                                       attention::ModelEnd) { lists.push_back(values); });
  std::vector<std::vector<float>> weights;
  for (const ClientWeight& weight : own.weights) {
    std::vector<float>& parts = weights.emplace_back();
    for (const std::complex<double>& value : weight.period)
      parts.insert(parts.end(), {static_cast<float>(value.real()), static_cast<float>(value.imag())});
  }
  for (const std::vector<float>& weight : weights) lists.push_back(weight);
  save_client_tables(path, own, tables, lists);
}

ClientFile read_client_file(const std::string& path, std::optional<attention::ModelEnd> only) {
  ClientFile file;
  ClientTables content(path, file);
  std::vector<int> periods;
  describe(content.rest(), file, periods);
  check(file, content.rest());
  attention::ClientModel::for_each_list(
      file.model, [&](const char* name, std::vector<float>& values, size_t wanted, attention::ModelEnd end) {
        values = content.next_floats(wanted, name, !only || *only == end);
      });
  for (size_t i = 0; i < periods.size(); ++i) {
    ClientWeight& weight = file.weights[i];
    if (!std::has_single_bit(static_cast<unsigned>(periods[i])) || periods[i] > file.context->slots())
      content.rest().refuse("a weight is no period of slots");
    const std::vector<float> parts = content.next_floats(2 * static_cast<size_t>(periods[i]), weight.name);
    for (size_t at = 0; at < parts.size(); at += 2) weight.period.emplace_back(parts[at], parts[at + 1]);
  }
  content.require_end();
  return file;
}

}  // namespace psm::cmd
