// bazel run //cmd:tokenizer -- train|encode: tokenizers made of a text, and used.
#include "nn/text/bpe/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/joined.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

int tokenizer(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:tokenizer -- ACTION [flags]",
      "Trains tokenizers and uses those of any kind.\n\n"
      "For example:\n"
      "  bazel run //cmd:tokenizer -- train --text FILE --vocab 1024 --out tokenizer.json\n"
      "  bazel run //cmd:tokenizer -- encode --tokenizer tokenizer.json --string \"Call me Ishmael.\"");
  const std::vector<std::string>& words = flags.words("ACTION", 1, 1, "train (byte-level BPE) or encode");
  const std::string& path = flags.text("text", "", "the input: a file of text");
  const std::string& string = flags.text("string", "", "the input itself, in place of --text");
  const std::string& tokenizer_path =
      flags.text("tokenizer", "",
                 "tokenizer.json, llama2.c's file, GPT-2's vocab.json, BERT's vocab.txt, or a "
                 "checkpoint that keeps its tokenizer");
  const int64_t& vocab =
      flags.integer("vocab", 1024, 256, 1 << 20, "tokens to train, with special ones and 256 bytes");
  const std::string& special = flags.text(
      "special", nn::kEndOfText, "special tokens of train, separated by commas; an empty text: none");
  const std::string& out = flags.output("out", "file for the result; without it encode prints it");
  flags.begin(argc, argv);
  const auto input = [&] {
    if (flags.given("text") == flags.given("string"))
      throw Error("give the input as a file (--text) or as it is (--string), one of both");
    return flags.given("text") ? read_file(resolve_user_path(path), kMaxTextBytes) : string;
  };
  if (words[0] == "train") {
    if (flags.given("tokenizer")) throw Error("--tokenizer is for encode");
    flags.require("out");
    nn::BpeTrainerOptions options{.vocab = static_cast<int>(vocab), .special = {}};
    for (size_t at = 0; at < special.size();) {
      const size_t end = std::min(special.find(',', at), special.size());
      options.special.push_back(special.substr(at, end - at));
      at = end + 1;
    }
    const std::string text = input();
    const double start = seconds_now();
    const std::string file = nn::tokenizer_json(nn::train_byte_bpe(text, options), 1);
    const double seconds = seconds_now() - start;
    // Read again before it is written: a vocabulary can be larger than files that are read.
    const char* what = "the trained tokenizer";
    const nn::Tokenizer tokenizer(nn::read_tokenizer_json(file, what), what);
    write_file(resolve_user_path(out), file);
    const size_t tokens = tokenizer.encode(text).size();
    Figures figures;
    const Json json = figures.row()
                          .both("vocabulary", "vocabulary", tokenizer.vocab())
                          .both("bytes", "bytes", static_cast<int64_t>(text.size()))
                          .both("tokens", "tokens", static_cast<int64_t>(tokens))
                          .json("seconds", seconds)
                          .object();
    print(figures.table().text());
    if (tokenizer.vocab() < options.vocab)
      print("no pair is left that stands twice: ", tokenizer.vocab(), " tokens of ", options.vocab, "\n");
    print("trained in ", seconds_text(seconds), "; wrote ", out, "\n");
    flags.write_json(json);
    return 0;
  }
  if (words[0] != "encode") throw Error(message(words[0], " is not known; use train or encode"));
  if (flags.given("vocab") || flags.given("special")) throw Error("--vocab and --special are for train");
  flags.require("tokenizer");
  const std::string file = resolve_user_path(tokenizer_path);
  const auto tokenizer = file.ends_with(".safetensors") ? tokenizer_of(attention::load_checkpoint(file))
                                                        : nn::load_tokenizer(file);
  if (!tokenizer) throw Error(message(tokenizer_path, " keeps no tokenizer; give the tokenizer's own file"));
  const std::vector<int> tokens = tokenizer->encode(input());
  const std::string line = joined(tokens, " ") + "\n";
  if (!out.empty()) {
    write_file(resolve_user_path(out), line);
  } else if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
    throw Error("the result cannot be written to the standard output");
  }
  flags.write_json(Json::Object{{"tokens", Json::Array(tokens.begin(), tokens.end())}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::tokenizer, argc, argv); }
