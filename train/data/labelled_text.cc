#include "train/data/labelled_text.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "nn/inputs/gzip_file.h"
#include "nn/text/lines.h"
#include "nn/text/sentences.h"

namespace psm::train {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr size_t kMostHeldOut = 1000;
constexpr size_t kMostWords = 64;  // of a phrase, all of whose parts are looked up; SST-2's have at most 53

// One kind of file, and how errors call its parts.
struct Format {
  std::string_view heading;
  const char *texts, *line_text, *give;
  std::optional<LabelledText> (*parse)(const std::vector<std::string_view>& fields);  // none: of another form
};

std::string_view trimmed(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

// Where each word begins, and the end of the text as if a word began after one more space.
std::vector<size_t> word_begins(std::string_view text) {
  std::vector<size_t> begins = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == ' ') begins.push_back(i + 1);
  begins.push_back(text.size() + 1);
  return begins;
}

const Format kFormats[] = {
    {"sentence\tlabel", "phrases", "not `phrase<tab>0` or `phrase<tab>1`, of at most 64 words",
     "give SST-2's train.tsv",
     [](const std::vector<std::string_view>& fields) -> std::optional<LabelledText> {
       if (fields.size() != 2 || (fields[1] != "0" && fields[1] != "1")) return {};
       const std::string_view phrase = trimmed(fields[0]);
       if (phrase.empty() || word_begins(phrase).size() > kMostWords + 1) return {};
       return LabelledText{std::string(phrase), fields[1] == "1"};
     }},
    {"index\tquestion\tsentence\tlabel", "pairs",
     "not an index, a question, a sentence and entailment or not_entailment with tabs between",
     "give a file of QNLI",
     [](const std::vector<std::string_view>& fields) -> std::optional<LabelledText> {
       if (fields.size() != 4 || fields[1].empty() || fields[2].empty()) return {};
       if (fields[3] != "entailment" && fields[3] != "not_entailment") return {};
       return LabelledText{message(fields[1], "\t", fields[2]), fields[3] == "not_entailment"};
     }},
    {"Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "pairs",
     "not 0 or 1, two numbers and two sentences with tabs between", "give a file of MRPC",
     [](const std::vector<std::string_view>& fields) -> std::optional<LabelledText> {
       if (fields.size() != 5 || fields[3].empty() || fields[4].empty()) return {};
       if (fields[0] != "0" && fields[0] != "1") return {};
       return LabelledText{message(fields[3], "\t", fields[4]), fields[0] == "1"};
     }}};

// Calls visit(part) for every run of words, the whole text among them, until it answers true; says whether it
// did.
template <typename Visit>
bool any_part(std::string_view text, const Visit& visit) {
  const std::vector<size_t> begins = word_begins(text);
  for (size_t from = 0; from + 1 < begins.size(); ++from)
    for (size_t to = from + 1; to < begins.size(); ++to)
      if (visit(text.substr(begins[from], begins[to] - 1 - begins[from]))) return true;
  return false;
}

// Holds out `held_out` of the texts with these numbers, spread evenly, and calls see(text) with each. Texts for which
// shares(text) holds are not trained on.
template <typename See, typename Shares>
LabelledSplit split_texts(const std::vector<LabelledText>& texts, const std::vector<size_t>& numbers,
                          size_t held_out, const See& see, const Shares& shares) {
  LabelledSplit split;
  for (size_t k = 0; k < held_out; ++k) {
    const LabelledText& text = texts[numbers[k * numbers.size() / held_out]];
    split.held_out.push_back(text);
    see(text);
  }
  for (const LabelledText& text : texts)
    if (!shares(text)) split.training.push_back(text);
  if (split.training.empty())
    throw Error(
        "every text has a part in common with a held-out one; give a larger file, or the held-out texts with "
        "--valid");
  return split;
}

// The texts of a file, and which kind it is.
struct LabelledFile {
  const Format* format;
  std::vector<LabelledText> texts;
};

LabelledFile parse_file(std::string_view text, const std::string& what) {
  if (text.starts_with("\ufeff")) text.remove_prefix(3);  // MRPC's byte order mark
  const std::vector<std::string_view> lines = nn::lines_of(text);
  const Format* const format =
      std::ranges::find(kFormats, lines.empty() ? std::string_view() : lines[0], &Format::heading);
  if (format == std::end(kFormats))
    throw Error(message(
        what,
        ", line 1: the heading is neither SST-2's (sentence, label) nor QNLI's (index, question, "
        "sentence, label) nor MRPC's (Quality, #1 ID, ..), with tabs between; give a file with one of "
        "them"));
  std::vector<LabelledText> texts;
  for (size_t n = 1; n < lines.size(); ++n) {
    std::optional<LabelledText> parsed = format->parse(fields_of(lines[n]));
    if (!parsed) throw Error(message(what, ", line ", n + 1, ": ", format->line_text, "; ", format->give));
    texts.push_back(std::move(*parsed));
  }
  if (texts.empty()) throw Error(message(what, " holds no ", format->texts, "; ", format->give));
  return {format, std::move(texts)};
}

LabelledFile read_labelled(const std::string& path) {
  return parse_file(nn::read_maybe_gzip(path, kMaxBytes), path);
}

// The part of a tokenizer's vocabulary that enough texts have.
std::shared_ptr<const nn::Tokenizer> reduced(const nn::Tokenizer& base,
                                             const std::vector<LabelledText>& texts, int least_texts,
                                             const std::string& origin) {
  std::vector<int> texts_with(static_cast<size_t>(base.vocab()));
  nn::KeptTokens kept;
  for (const LabelledText& text : texts) {
    std::set<int> tokens;
    for (const std::string_view part : fields_of(text.text))
      for (const int token : base.encode(message(" ", part))) tokens.insert(token);
    for (const int token : tokens) ++texts_with[token];
  }
  for (size_t token = 0; token < texts_with.size(); ++token)
    if (texts_with[token] >= least_texts) kept.ids.push_back(static_cast<int>(token));
  nn::BpeSpec spec = base.spec();
  spec.kept = std::move(kept);
  return std::make_shared<const nn::Tokenizer>(std::move(spec), origin);
}

}  // namespace

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= line.size() && fields.size() < 6;) {
    const size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

std::vector<LabelledText> parse_labelled(std::string_view text, const std::string& what) {
  return parse_file(text, what).texts;
}

LabelledSplit split_phrases(const std::vector<LabelledText>& phrases, size_t held_out, size_t least_words) {
  std::vector<size_t> long_ones;
  for (size_t n = 0; n < phrases.size(); ++n)
    if (word_begins(phrases[n].text).size() > least_words) long_ones.push_back(n);
  if (long_ones.size() < held_out || held_out == 0)
    throw Error(message("SST-2: ", long_ones.size(), " phrases of ", least_words,
                        " words or more are too few to hold out ", held_out, "; give the whole train.tsv"));
  // Views of the held-out phrases. A tail begins with a word; a part is what a tail has before a space or its end.
  std::unordered_set<std::string_view> whole;
  std::set<std::string_view> tails;
  return split_texts(
      phrases, long_ones, held_out,
      [&](const LabelledText& phrase) {
        whole.insert(phrase.text);
        for (const size_t begin : word_begins(phrase.text))
          if (begin < phrase.text.size()) tails.insert(std::string_view(phrase.text).substr(begin));
      },
      [&](const LabelledText& phrase) {
        const std::string words = phrase.text + ' ';
        const auto next = tails.lower_bound(words);
        return tails.contains(phrase.text) || (next != tails.end() && next->starts_with(words)) ||
               any_part(phrase.text, [&](std::string_view part) { return whole.contains(part); });
      });
}

LabelledSplit split_pairs(const std::vector<LabelledText>& pairs, size_t held_out) {
  if (held_out == 0 || held_out >= pairs.size())
    throw Error(message(pairs.size(), " pairs are too few to hold out ", held_out, "; give a larger file"));
  std::vector<size_t> all(pairs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::unordered_set<std::string_view> questions, sentences;  // views into `pairs`
  return split_texts(
      pairs, all, held_out,
      [&](const LabelledText& pair) {
        const std::vector<std::string_view> texts = fields_of(pair.text);
        questions.insert(texts.front()), sentences.insert(texts.back());
      },
      [&](const LabelledText& pair) {
        const std::vector<std::string_view> texts = fields_of(pair.text);
        return questions.contains(texts.front()) || sentences.contains(texts.back());
      });
}

LabelledSplit read_labelled_split(const std::string& path, const std::string& valid) {
  auto [format, texts] = read_labelled(path);
  if (!valid.empty()) {
    LabelledFile others = read_labelled(valid);
    // The classes of QNLI's pairs and of MRPC's are opposites.
    if (others.format != format)
      throw Error(message(valid, " has another heading than ", path, "; give two files of one kind"));
    return {std::move(texts), std::move(others.texts)};
  }
  const size_t held_out = std::clamp<size_t>(texts.size() / 10, 1, kMostHeldOut);
  return texts[0].text.find('\t') != std::string::npos ? split_pairs(texts, held_out)
                                                       : split_phrases(texts, held_out, kLeastWords);
}

LabelledTextData::LabelledTextData(const std::vector<LabelledText>& training,
                                   const std::vector<LabelledText>& held_out,
                                   std::shared_ptr<const nn::Tokenizer> base, int context,
                                   const std::string& origin, int least_texts)
    : context_(context) {
  PSM_CHECK(least_texts >= 1, least_texts);
  if (context < 3)
    throw Error(message("a context of ", context, " tokens has no room for a text; give at least 3"));
  for (const std::vector<LabelledText>* texts : {&training, &held_out})
    for (const LabelledText& text : *texts) {
      if (text.label < 0)
        throw Error(message(origin, ": label ", text.label, " is none; labels begin with 0"));
      classes_ = std::max(classes_, text.label + 1);
    }
  if (training.empty() || held_out.empty() || classes_ < 2)
    throw Error(message(origin, ": ", training.size(), " texts to train on and ", held_out.size(),
                        " held out, of ", classes_, " classes; give some of each, and two classes"));
  tokenizer_ = base->encloses_texts() ? std::move(base) : reduced(*base, training, least_texts, origin);
  uint64_t checksum = 0;
  const auto encode = [&](const std::vector<LabelledText>& texts, std::vector<Text>& out) {
    for (const LabelledText& text : texts) {
      out.push_back({nn::sentence_tokens(*tokenizer_, text.text, static_cast<size_t>(context_)), text.label});
      const std::vector<int>& tokens = out.back().tokens;
      const uint64_t pair[] = {checksum, checksum64(tokens.data(), tokens.size() * sizeof(int)) +
                                             static_cast<uint64_t>(text.label)};
      checksum = checksum64(pair, sizeof pair);
    }
  };
  encode(training, training_);
  encode(held_out, held_out_);
  description_ = message(origin, ", ", training_.size(), " texts and ", held_out_.size(), " held out, ",
                         vocab(), " tokens, context ", context_, ", checksum ", checksum);
}

Batch LabelledTextData::batch_of(const std::vector<const Text*>& texts) const {
  size_t longest = 0;
  for (const Text* text : texts) longest = std::max(longest, text->tokens.size());
  Batch batch;
  batch.sequences = static_cast<int>(texts.size()), batch.length = static_cast<int>(longest);
  batch.tokens.assign(texts.size() * longest, *tokenizer_->end());
  for (size_t s = 0; s < texts.size(); ++s) {
    const std::vector<int>& tokens = texts[s]->tokens;
    std::ranges::copy(tokens, batch.tokens.begin() + static_cast<std::ptrdiff_t>(s * longest));
    batch.lengths.push_back(static_cast<int>(tokens.size()));
    batch.targets.push_back(texts[s]->label);
  }
  return batch;
}

Batch LabelledTextData::draw(int sequences, TrainingRandom& random) const {
  std::vector<const Text*> texts;
  for (int s = 0; s < sequences; ++s) texts.push_back(&training_[random.integer(training_.size())]);
  return batch_of(texts);
}

Batch LabelledTextData::validation(int sequences) const {
  std::vector<const Text*> texts;
  for (const Text& text : std::span(held_out_).first(std::min<size_t>(held_out_.size(), sequences)))
    texts.push_back(&text);
  return batch_of(texts);
}

}  // namespace psm::train
