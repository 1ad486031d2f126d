// Models of other programs as checkpoints of this one, with their tokenizers; and back into transformers'
// files.
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "attention/files/checkpoint.h"
#include "attention/files/hugging_face.h"
#include "attention/files/llama2c.h"
#include "attention/files/stored_tensors.h"
#include "attention/shape/model_json.h"
#include "ckks/base/error.h"
#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

// Whether a file is named as safetensors are, or begins as they do, with the length of a header and its brace.
bool is_checkpoint(const std::string& path) {
  if (path.ends_with(".safetensors")) return true;
  char start[9];
  return ByteSource(path).read(start, sizeof start) && start[8] == '{' && start[6] == 0 && start[7] == 0;
}

struct Imported : attention::ImportedModel {
  attention::Checkpoint checkpoint;  // has the weights
};

Imported read_model(const std::string& path, const attention::FreshHead& head) {
  Imported out;
  if (fs::is_directory(path)) {  // transformers' files
    static_cast<attention::ImportedModel&>(out) = attention::read_hugging_face(path, head);
    out.checkpoint.weights = std::move(out.weights);
    if (out.images)
      write_notes(PromptCodec(*out.images, out.checkpoint.weights.config.classes), out.checkpoint.notes,
                  out.checkpoint.weights.config);
  } else if (!is_checkpoint(path)) {
    out.checkpoint.weights = attention::read_llama2c(path);
    out.changed.push_back("RoPE's pairs of neighbours are pairs of halves");
  } else {
    out.checkpoint = attention::load_checkpoint(path);
    if (head.mean_pooling && !out.checkpoint.weights.config.mean_pooling)
      throw Error(message(path,
                          " has no head that reads the mean of the tokens; import the model that it was "
                          "trained from with --embedding --classes 2, and train again"));
    if (head.classes) {  // with a mean of the tokens it stays one
      attention::give_classifier(out.checkpoint.weights, *head.classes, head.seed);
      out.checkpoint.ranges = {};
      out.changed.push_back(message("a fresh classifier for ", *head.classes, " classes, to be trained"));
    } else if (head.mean_pooling) {
      attention::embed_sentences(out.checkpoint.weights);
    }
    if (head.classes || head.mean_pooling) write_scores({}, out.checkpoint);  // those of another head
  }
  const attention::ModelConfig& config = out.checkpoint.weights.config;
  if ((head.mean_pooling && !config.mean_pooling) || (head.classes && config.classes == 0))
    throw Error(message(path, " is of the family ", attention::family_of(config),
                        ", which has no such head; leave out --",
                        head.mean_pooling ? "embedding" : "classes"));
  return out;
}

// The tokenizer that was asked for, that the checkpoint keeps, or that lies in the folder of transformers'
// files; null if there is none, or none is wanted.
std::shared_ptr<const nn::Tokenizer> find_tokenizer(const std::string& asked, const fs::path& source,
                                                    const attention::Checkpoint& checkpoint) {
  if (asked == "none") return nullptr;
  if (!asked.empty()) return nn::load_tokenizer(resolve_user_path(asked));
  if (!fs::is_directory(source)) return tokenizer_of(checkpoint);
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json"})
    if (fs::exists(source / name)) return nn::load_tokenizer((source / name).string());
  return nullptr;
}

std::string list_text(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : message(names.size(), ": ", joined(names, ", ", {}, 3));
}

Json to_json(const std::vector<std::string>& names) { return Json::Array(names.begin(), names.end()); }

// Whether the architecture runs encrypted, once its attention is PowerSoftmax.
std::string encrypted_form(attention::ModelConfig config) {
  const bool replaced = config.attention != attention::AttentionKind::kPowerSoftmax;
  config.attention = attention::AttentionKind::kPowerSoftmax;
  const std::string why = config.without_encrypted_form();
  return !why.empty() ? "no: " + why : replaced ? "with its attention replaced (//cmd:train --from)" : "yes";
}

int import_command(int argc, char** argv) {
  Command flags("bazel run //cmd:import -- --from PATH --out MODEL.safetensors [--tokenizer FILE] [flags]",
                "Makes a checkpoint of a model in other files: a folder of transformers with config.json and "
                "model.safetensors (GPT-NeoX such as Pythia, GPT-2, Llama, BERT, RoBERTa, ViT), or a file of "
                "llama2.c. The tokenizer is kept in it. With --to hugging-face the model is written into the "
                "folder --out for transformers.");
  const std::string& from = flags.text("from", "", "folder or file of the model");
  const std::string& tokenizer_path =
      flags.text("tokenizer", "",
                 "tokenizer.json, llama2.c's file, GPT-2's vocab.json beside merges.txt or BERT's "
                 "vocab.txt; none: without; else one in the model's folder");
  const std::string& to = flags.text("to", "checkpoint", "what to write: checkpoint or hugging-face");
  const std::string& out =
      flags.output("out", "the checkpoint, or the folder for transformers (made if it is missing)",
                   Flags::Output::kFileOrFolder);
  const int64_t& classes = flags.integer(
      "classes", 2, 2, 1 << 20,
      "of a BERT, RoBERTa or ViT; a fresh classifier where its file has none of so many, and always "
      "for a checkpoint");
  const bool& embedding = flags.truth(
      "embedding", false,
      "of a BERT or RoBERTa, the mean of a text's tokens, of length 1, in place of classes, as folders of "
      "sentence-transformers have it; with --classes a classifier of this mean, to be trained");
  const int64_t& seed = flags.integer("seed", 1, 1, INT64_MAX, "of a fresh classifier");
  flags.begin(argc, argv, {"from", "out"});
  if (to != "checkpoint" && to != "hugging-face")
    throw Error(message("--to ", to, " is not known; use checkpoint or hugging-face"));
  const std::string target = resolve_user_path(out);
  if (to == "checkpoint") AtomicFile probe(target);
  if (to != "checkpoint") require_writable_folder(target);

  const double start = seconds_now();
  const std::string source = resolve_user_path(from), model_file = "/model.safetensors";
  for (const std::string& read : {source, source + model_file})
    require_kept(read, to == "checkpoint" ? target : target + model_file, "the import");
  Imported model =
      read_model(source, {flags.given("classes") ? std::optional(static_cast<int>(classes)) : std::nullopt,
                          embedding, static_cast<uint64_t>(seed)});
  attention::Checkpoint& checkpoint = model.checkpoint;
  const attention::ModelConfig& config = checkpoint.weights.config;
  const auto tokenizer = find_tokenizer(tokenizer_path, source, checkpoint);
  if (tokenizer) write_notes(PromptCodec(tokenizer), checkpoint.notes, config);
  if (tokenizer_path == "none" && config.patch_inputs == 0) checkpoint.notes.erase(kPromptsNote);
  const std::string file_of_transformers = tokenizer ? nn::tokenizer_json(tokenizer->spec(), 0) : "";

  // transformers counts RoBERTa's positions over the tokens that are no padding, which is number 1 when written.
  if (to != "checkpoint" && attention::family_of(config) == "roberta") model.padding = 1;
  if (tokenizer && model.padding &&
      (tokenizer->start() == model.padding || tokenizer->end() == model.padding))
    throw Error(message("token ", *model.padding,
                        " stands at an end of the model's texts, and transformers takes it for padding; mend "
                        "pad_token_id in config.json, or train the model with a tokenizer of <s>, <pad> and "
                        "</s> in this order (//cmd:tokenizer -- --special)"));
  if (tokenizer && config.separator > 0 && tokenizer->end() != config.separator)
    throw Error(message("the model takes token ", config.separator,
                        " for the end of the first of two texts, and its tokenizer ends them otherwise; mend "
                        "sep_token_id in config.json"));
  std::optional<attention::PatchGrid> images;
  if (config.patch_inputs > 0) images = codec_of(config, checkpoint.notes).images();
  if (to == "checkpoint") {
    attention::save_checkpoint(target, checkpoint);
  } else {
    attention::write_hugging_face(target, checkpoint.weights, images);
    if (!file_of_transformers.empty()) write_file(target + "/tokenizer.json", file_of_transformers);
  }
  const double seconds = seconds_now() - start;

  const bool left_out = to != "checkpoint" && tokenizer && file_of_transformers.empty();
  Figures figures;
  Figures::Row& row = figures.row();
  row.both("architecture", "architecture", std::string(attention::family_of(config)))
      .cell("shape",
            message(config.layers, " layers, width ", config.width, ", ", config.heads, " heads (",
                    config.key_heads(), " of keys), feed-forward ", config.ffn, ", ",
                    images ? message("images of ", images->height, " x ", images->width, " in patches of ",
                                     images->patch, ", channels ", images->channels)
                           : message("vocabulary ", config.vocab, ", context ", config.context)))
      .json("config", parse_json(attention::config_to_json(config), "config"))
      .both("parameters", "parameters", static_cast<int64_t>(checkpoint.weights.parameters()))
      .both("encrypted", "encrypted", encrypted_form(config))
      .cell("tokenizer", tokenizer
                             ? message(tokenizer->vocab(), " tokens",
                                       left_out ? ", not written: transformers has no file of its kind" : "")
                             : "none")
      .json("ignored", to_json(model.ignored))
      .cell("ignored", list_text(model.ignored))
      .json("converted", to_json(model.changed));
  if (config.classes > 0) row.cell("classes", std::to_string(config.classes));
  for (const std::string& change : model.changed) row.cell("converted", change);
  if (tokenizer) row.json("tokenizer_tokens", tokenizer->vocab());
  print(figures.lines(), "wrote ", out, " in ", seconds_text(seconds), "\n");
  Json json = row.object();
  json["seconds"] = seconds;
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::import_command, argc, argv); }
