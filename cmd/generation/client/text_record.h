// The client's record of a text that is being generated, so that a killed run can continue: the tokens so
// far, how they were picked, and the last encrypted request. A folder with two files, for its owner only:
//     text.record   tokens and settings, replaced before a token is shown or sent
//     request.ct    the last request, written before it is sent: the same one is sent again
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cmd/client/new_keys.h"
#include "cmd/protocol/notes.h"

namespace psm::cmd {

// Picks the next token from its logits z over the vocabulary:
//
//     temperature 0     the largest z; of equal ones the first
//     temperature T     i with probability ~ e^{z_i / T}, among the k tokens of the largest z (k = 0: all) and those
//                       equal to the last of them
//
// Both are argmax_i (z_i + T g_i) with g_i = -log(-log u_i), u_i uniform in (0, 1) (Gumbel, "Statistical theory of
// extreme values", 1954). The draws g depend on seed and position alone, so a resumed run draws the same. No branch, no
// address and no order of work depends on a logit. It never fails: a server's answer can make logits anything, and a
// client that then behaved differently would tell the server something (ckks/SECURITY.md). A logit that is not a number
// is below all numbers. If none is a number, token 0 is picked.
struct Sampler {
  double temperature = 0;
  int top_k = 0;
  uint64_t seed = 1;

  int pick(std::span<const double> logits, int position) const;
};

struct TextRecord {
  static constexpr NoteKind kKind = NoteKind::kTextRecord;
  static constexpr const char* kWhat = "record of a text";

  uint64_t text = 0, program = 0,
           keys = 0;        // numbers of the text and its program (TextEnds::id), fingerprint
  int prompt = 0;           // tokens of the prompt
  std::vector<int> tokens;  // with those of the prompt
  Sampler sampler{};

  // Throws Error if the note is not a record, or has tokens beyond `vocab`.
  static TextRecord parse(const std::string& note, const std::string& path, int vocab);
};

template <typename Tables>
void describe(Tables& t, TextRecord& record) {
  t.number(record.text), t.number(record.program), t.number(record.keys);
  t.number(record.sampler.temperature), t.number(record.sampler.seed);
  bounded(t, record.sampler.top_k, 0, INT32_MAX, "its top-k");
  wire::list(t, record.tokens, 4, [&](int& token) { wire::integer(t, token); });
  bounded(t, record.prompt, 1, static_cast<int>(record.tokens.size()), "the length of its prompt");
}

class TextFolder {
 public:
  // Makes the folder unless it exists, and locks it. Empty: nothing is kept. Throws Error if another process has it.
  explicit TextFolder(std::string folder);
  ~TextFolder();  // removes it if nothing came into it
  TextFolder(const TextFolder&) = delete;
  TextFolder& operator=(const TextFolder&) = delete;

  std::optional<TextRecord> load(int vocab) const;
  void save(const TextRecord& record) const;
  std::optional<std::string> request(uint64_t longest) const;
  void save_request(const std::string& bytes) const;
  const std::string& path() const { return folder_; }

 private:
  std::string folder_;
  std::optional<LockedFolder> lock_;
};

}  // namespace psm::cmd
