#include "nn/text/bpe/tokenizer_tables.h"

#include <optional>
#include <utility>

#include "ckks/wire/tables.h"

namespace psm::nn {
namespace {

template <typename Tables, typename Enum>
void choice(Tables& t, Enum& value, Enum first, Enum last) {
  auto number = static_cast<uint8_t>(value);
  t.number(number);
  if (number < static_cast<uint8_t>(first) || number > static_cast<uint8_t>(last))
    t.refuse("its tokenizer has an unknown rule; make it again");
  value = static_cast<Enum>(number);
}

// A tokenizer: all of it, or kept tokens and the tokenizer that they are of.
struct Form {
  bool is_part = false;
  BpeSpec bpe{};
  KeptTokens kept{};
  std::string base{};
};

template <typename Tables>
void describe(Tables& t, Form& form) {
  wire::flag(t, form.is_part);
  if (form.is_part) {
    wire::list(t, form.kept.ids, 4, [&](int& token) { t.number(token); });
    t.text(form.base);
    return;
  }
  BpeSpec& spec = form.bpe;
  choice(t, spec.kind, BpeKind::kAlphabet, BpeKind::kWordPiece);
  wire::list(t, spec.tokens, 4, [&](std::string& token) { t.text(token); });
  wire::list(t, spec.merges, 8, [&](auto& merge) { t.number(merge.first), t.number(merge.second); });
  wire::list(t, spec.scores, 4, [&](float& score) { t.number(score); });
  wire::list(t, spec.added, 12, [&](AddedToken& added) {
    t.text(added.text);
    t.number(added.id);
    for (bool* property : {&added.special, &added.normalised, &added.strip_left, &added.strip_right})
      wire::flag(t, *property);
  });
  for (std::optional<int>* token : {&spec.ends.start, &spec.ends.end, &spec.unknown}) {
    int number = token->value_or(-1);
    t.number(number);
    *token = number == -1 ? std::nullopt : std::optional(number);
  }
  choice(t, spec.prefix, SpacePrefix::kNever, SpacePrefix::kAlways);
  choice(t, spec.rule, WordRule::kGpt2, WordRule::kQwen2);
  for (bool* property :
       {&spec.ends.end_is_added, &spec.nfc, &spec.single_digits, &spec.whole_words, &spec.one_unknown})
    wire::flag(t, *property);
  if (spec.kind == BpeKind::kWordPiece)
    for (bool* property : {&spec.strips_accents, &spec.lower_case}) wire::flag(t, *property);
}

}  // namespace

std::string tokenizer_bytes(const Tokenizer& tokenizer) {
  BpeSpec spec = tokenizer.spec();
  const std::optional<KeptTokens> kept = std::exchange(spec.kept, std::nullopt);
  const std::string whole = wire::to_bytes(Form{.bpe = std::move(spec)});
  return kept ? wire::to_bytes(Form{.is_part = true, .kept = *kept, .base = whole}) : whole;
}

std::shared_ptr<const Tokenizer> tokenizer_from_bytes(std::string_view bytes, const std::string& what) {
  Form form = wire::from_bytes<Form>(bytes, what);
  if (form.is_part) {
    Form whole = wire::from_bytes<Form>(form.base, what);
    if (whole.is_part) throw Error(what + ": sentences of sentences; the file is damaged");
    form.bpe = std::move(whole.bpe);
    form.bpe.kept = std::move(form.kept);
  }
  return std::make_shared<Tokenizer>(std::move(form.bpe), what);
}

}  // namespace psm::nn
