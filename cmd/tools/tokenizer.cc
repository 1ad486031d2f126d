// bazel run //cmd:tokenizer -- train|encode: tokenizers made of a text, and used.
#include "nn/text/bpe/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

struct TokenizerFlags {
  explicit TokenizerFlags(Command& flags)
      : flags(flags),
        text(flags.text("text", "", "the input: a file of text")),
        string(flags.text("string", "", "the input itself, in place of --text")),
        tokenizer(flags.text("tokenizer", "",
                             "tokenizer.json, llama2.c's file, GPT-2's vocab.json, BERT's vocab.txt, or a "
                             "checkpoint that keeps its tokenizer")),
        vocab(flags.integer("vocab", 1024, 256, 1 << 20, "tokens to train, with special ones and 256 bytes")),
        special(flags.text("special", nn::kEndOfText,
                           "special tokens of train, separated by commas; an empty text: none")),
        out(flags.output("out", "file for the result; without it encode prints it")) {}

  std::string input() const {
    if (flags.given("text") == flags.given("string"))
      throw Error("give the input as a file (--text) or as it is (--string), one of both");
    return flags.given("text") ? read_file(resolve_user_path(text), kMaxTextBytes) : string;
  }

  std::shared_ptr<const nn::Tokenizer> load() const {
    flags.require("tokenizer");
    if (!tokenizer.ends_with(".safetensors")) return nn::load_tokenizer(resolve_user_path(tokenizer));
    auto kept = tokenizer_of(attention::load_checkpoint(resolve_user_path(tokenizer)));
    if (!kept) throw Error(message(tokenizer, " keeps no tokenizer; give the tokenizer's own file"));
    return kept;
  }

  // To --out, or to the standard output.
  void write(const std::string& result) const {
    if (!out.empty()) return write_file(resolve_user_path(out), result);
    if (std::fwrite(result.data(), 1, result.size(), stdout) != result.size())
      throw Error("the result cannot be written to the standard output");
  }

  const Command& flags;
  const std::string &text, &string, &tokenizer;
  const int64_t& vocab;
  const std::string &special, &out;
};

Json train(const TokenizerFlags& flags) {
  flags.flags.require("out");
  nn::BpeTrainerOptions options{.vocab = static_cast<int>(flags.vocab), .special = {}};
  for (size_t at = 0; at < flags.special.size();) {
    const size_t end = std::min(flags.special.find(',', at), flags.special.size());
    options.special.push_back(flags.special.substr(at, end - at));
    at = end + 1;
  }
  const std::string text = flags.input();
  const double start = seconds_now();
  const std::string file = nn::tokenizer_json(nn::train_byte_bpe(text, options), 1);
  const double seconds = seconds_now() - start;
  // Read again before it is written: a vocabulary can be larger than files that are read.
  const char* what = "the trained tokenizer";
  const nn::Tokenizer tokenizer(nn::read_tokenizer_json(file, what), what);
  flags.write(file);
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
  print("trained in ", seconds_text(seconds), "; wrote ", flags.out, "\n");
  return json;
}

Json encode(const TokenizerFlags& flags) {
  const auto tokenizer = flags.load();
  const std::vector<int> tokens = tokenizer->encode(flags.input());
  std::string line;
  for (const int token : tokens) line += (line.empty() ? "" : " ") + std::to_string(token);
  flags.write(line + "\n");
  return Json::Object{{"tokens", Json::Array(tokens.begin(), tokens.end())}};
}

int tokenizer(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:tokenizer -- ACTION [flags]",
      "Trains tokenizers and uses those of any kind.\n\n"
      "For example:\n"
      "  bazel run //cmd:tokenizer -- train --text FILE --vocab 1024 --out tokenizer.json\n"
      "  bazel run //cmd:tokenizer -- encode --tokenizer tokenizer.json --string \"Call me Ishmael.\"");
  const std::vector<std::string>& words = flags.words("ACTION", 1, 1, "train (byte-level BPE) or encode");
  const TokenizerFlags tokenizer_flags(flags);
  flags.begin(argc, argv);
  const std::string& action = words[0];
  if (action == "train") {
    flags.write_json(train(tokenizer_flags));
  } else if (action == "encode") {
    flags.write_json(encode(tokenizer_flags));
  } else {
    throw Error(message(action, " is not known; use train or encode"));
  }
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::tokenizer, argc, argv); }
