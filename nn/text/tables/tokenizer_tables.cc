#include "nn/text/tables/tokenizer_tables.h"

#include <optional>
#include <vector>

#include "ckks/wire/tables.h"
#include "nn/text/alphabet.h"
#include "nn/text/bpe/byte_bpe.h"
#include "nn/text/bpe/character_bpe.h"
#include "nn/text/bpe/llama2_tokenizer.h"
#include "nn/text/sentence_tokenizer.h"

namespace psm::nn {
namespace {

enum class Kind : uint8_t { kAlphabet = 1, kByteBpe, kCharacterBpe, kLlama2, kSentences };

template <typename Tables, typename Enum>
void choice(Tables& t, Enum& value, Enum last) {
  auto number = static_cast<uint8_t>(value);
  t.number(number);
  if (number > static_cast<uint8_t>(last)) t.refuse("its tokenizer has an unknown rule; make it again");
  value = static_cast<Enum>(number);
}

// A token, or -1.
template <typename Tables>
void describe(Tables& t, std::optional<int>& token) {
  int number = token.value_or(-1);
  wire::integer(t, number);
  token = number == -1 ? std::nullopt : std::optional(number);
}

template <typename Tables>
void describe(Tables& t, TextEnds& ends) {
  describe(t, ends.start), describe(t, ends.end);
  wire::flag(t, ends.end_is_added);
}

// What both kinds of BPE have.
template <typename Tables, typename Spec>
void describe_vocabulary(Tables& t, Spec& spec) {
  wire::list(t, spec.tokens, 4, [&](std::string& token) { t.text(token); });
  wire::list(t, spec.merges, 8,
             [&](auto& merge) { wire::integer(t, merge.first), wire::integer(t, merge.second); });
  wire::list(t, spec.added, 12, [&](AddedToken& added) {
    t.text(added.text);
    wire::integer(t, added.id);
    for (bool* property : {&added.special, &added.normalised, &added.strip_left, &added.strip_right})
      wire::flag(t, *property);
  });
  describe(t, spec.ends);
}

}  // namespace

template <typename Tables>
void describe(Tables& t, ByteBpeSpec& spec) {
  describe_vocabulary(t, spec);
  choice(t, spec.rule, WordRule::kQwen2);
  for (bool* property : {&spec.nfc, &spec.prefix_space, &spec.single_digits, &spec.whole_words})
    wire::flag(t, *property);
}

template <typename Tables>
void describe(Tables& t, CharacterBpeSpec& spec) {
  describe_vocabulary(t, spec);
  choice(t, spec.prefix, SpacePrefix::kAlways);
  describe(t, spec.unknown);
  wire::flag(t, spec.one_unknown);
}

namespace {

template <typename Spec>
std::string of_kind(Kind kind, Spec spec) {
  wire::TableWriter tables;
  tables.number(static_cast<uint8_t>(kind));
  describe(tables, spec);
  return {tables.bytes().begin(), tables.bytes().end()};
}

// Texts that are all of a tokenizer, and sentences with their base behind them.
struct Whole {
  std::string bytes;
};
template <typename Tables>
void describe(Tables& t, Whole& whole) {
  t.text(whole.bytes);
}

struct Sentences {
  std::vector<int> kept;
  std::string base;
};
template <typename Tables>
void describe(Tables& t, Sentences& sentences) {
  wire::list(t, sentences.kept, 4, [&](int& token) { wire::integer(t, token); });
  t.text(sentences.base);
}

}  // namespace

std::string tokenizer_bytes(const Tokenizer& tokenizer) {
  if (const auto* alphabet = dynamic_cast<const Alphabet*>(&tokenizer))
    return of_kind(Kind::kAlphabet, Whole{alphabet->all_bytes()});
  if (const auto* bytes = dynamic_cast<const ByteBpe*>(&tokenizer))
    return of_kind(Kind::kByteBpe, bytes->spec());
  if (const auto* characters = dynamic_cast<const CharacterBpe*>(&tokenizer))
    return of_kind(Kind::kCharacterBpe, characters->spec());
  if (const auto* llama2 = dynamic_cast<const Llama2Tokenizer*>(&tokenizer))
    return of_kind(Kind::kLlama2, Whole{llama2->file()});
  const auto* sentences = dynamic_cast<const SentenceTokenizer*>(&tokenizer);
  PSM_CHECK(sentences != nullptr);
  return of_kind(Kind::kSentences, Sentences{sentences->kept(), tokenizer_bytes(sentences->base())});
}

std::shared_ptr<const Tokenizer> tokenizer_from_bytes(std::string_view bytes, const std::string& what) {
  const auto kind = static_cast<Kind>(bytes.empty() ? 0 : bytes[0]);
  const std::string_view rest = bytes.substr(bytes.empty() ? 0 : 1);
  switch (kind) {
    case Kind::kAlphabet:
      return std::make_shared<Alphabet>(Alphabet::of_bytes(wire::from_bytes<Whole>(rest, what).bytes, what));
    case Kind::kByteBpe:
      return std::make_shared<ByteBpe>(wire::from_bytes<ByteBpeSpec>(rest, what), what);
    case Kind::kCharacterBpe:
      return std::make_shared<CharacterBpe>(wire::from_bytes<CharacterBpeSpec>(rest, what), what);
    case Kind::kLlama2:
      return std::make_shared<Llama2Tokenizer>(wire::from_bytes<Whole>(rest, what).bytes, what);
    case Kind::kSentences: {
      auto sentences = wire::from_bytes<Sentences>(rest, what);
      if (!sentences.base.empty() && static_cast<Kind>(sentences.base[0]) == Kind::kSentences)
        throw Error(what + ": sentences of sentences; the file is damaged");
      return std::make_shared<SentenceTokenizer>(tokenizer_from_bytes(sentences.base, what),
                                                 std::move(sentences.kept), what);
    }
  }
  throw Error(what + " has a tokenizer of no known kind; make it again");
}

}  // namespace psm::nn
