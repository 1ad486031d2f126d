#include "cmd/prompts/model_tokenizer.h"

#include "ckks/base/error.h"
#include "nn/text/files/tokenizer_file.h"

namespace psm::cmd {
namespace {

constexpr const char *kNote = "tokenizer", *kAlphabetNote = "alphabet";

void require_fitting(const nn::Tokenizer& tokenizer, int vocab) {
  if (tokenizer.vocab() > vocab) {
    throw Error(message("the tokenizer has ", tokenizer.vocab(), " tokens and the model ", vocab,
                        "; give the tokenizer that belongs to the model"));
  }
}

}  // namespace

void keep_tokenizer(const nn::Tokenizer& tokenizer, Notes& notes, int vocab) {
  require_fitting(tokenizer, vocab);
  notes[kNote] = tokenizer.to_string();
}

std::shared_ptr<const nn::Tokenizer> tokenizer_of(const Notes& notes, int vocab) {
  const auto note = notes.find(kNote), alphabet = notes.find(kAlphabetNote);
  std::shared_ptr<const nn::Tokenizer> tokenizer;
  if (note != notes.end()) {
    tokenizer = nn::tokenizer_from_string(note->second, "the checkpoint's note \"tokenizer\"");
  } else if (alphabet != notes.end()) {
    tokenizer =
        nn::tokenizer_from_string("alphabet " + alphabet->second, "the checkpoint's note \"alphabet\"");
  } else {
    return nullptr;
  }
  require_fitting(*tokenizer, vocab);
  return tokenizer;
}

}  // namespace psm::cmd
