#include "train/stages/training_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"

namespace psm::train {
namespace {

uint64_t number_at(const nn::Safetensors& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  const std::string text = found == file.metadata.end() ? "" : found->second;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw Error(message(path, ": ", key,
                        " is not a number; the file is not a saved training, delete it to begin anew"));
  return number;
}

}  // namespace

void save_training(const std::string& path, const std::string& description, const SavedTraining& saved) {
  const TrainerState& state = saved.state;
  const auto count = static_cast<int64_t>(state.values.size());
  nn::Safetensors file;
  file.metadata = {{"training", description},
                   {"steps", std::to_string(state.optimiser.steps)},
                   {"random", std::to_string(state.random)},
                   {"tokens", std::to_string(state.tokens)},
                   {"finished", saved.finished ? "1" : "0"}};
  file.tensors = {{"values", {count}, state.values},
                  {"first_moment", {count}, state.optimiser.m},
                  {"second_moment", {count}, state.optimiser.v}};
  nn::write_safetensors(path, file);
}

std::optional<SavedTraining> load_training(const std::string& path, const std::string& description) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return training_from(nn::read_safetensors(path), description, path);
}

SavedTraining training_from(nn::Safetensors file, const std::string& description, const std::string& path) {
  if (file.metadata["training"] != description)
    throw Error(
        message(path, " is a saved training of another model, data set or options; delete it to begin anew"));
  if (file.tensors.empty() || file.tensors[0].shape.size() != 1)
    throw Error(message(path, " is not a saved training; delete it to begin anew"));
  const std::vector<int64_t> shape = file.tensors[0].shape;
  SavedTraining saved;
  saved.state.values = file.at("values", shape, path);
  saved.state.optimiser.m = file.at("first_moment", shape, path);
  saved.state.optimiser.v = file.at("second_moment", shape, path);
  for (const std::vector<float>* values :
       {&saved.state.values, &saved.state.optimiser.m, &saved.state.optimiser.v})
    if (!std::all_of(values->begin(), values->end(), [](float x) { return std::isfinite(x); }))
      throw Error(message(path, " holds a value that is not finite; delete it to begin anew"));
  saved.state.optimiser.steps = number_at(file, "steps", path);
  saved.state.random = number_at(file, "random", path);
  saved.state.tokens = number_at(file, "tokens", path);
  saved.finished = number_at(file, "finished", path) != 0;
  return saved;
}

}  // namespace psm::train
