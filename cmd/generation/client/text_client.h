// The client of a conversation (cmd/generation/frames.h): for each token it embeds, encrypts, sends,
// decrypts, and picks the next one. It holds the secret key; the server never links this.
//
// Beyond T tokens. The server has places for the keys and values of T tokens, and emptying one would cost a
// level. With `slide` the client then sends the last T/2 tokens of the text as a prompt. So there is a whole
// pass once in T/2 tokens, and a token sees the T/2 to T tokens before it.
//
// With encrypted weights there is no pass for prompts. The tokens of a prompt are sent one by one, all
// answers except the last are dropped unread, and no window slides.
//
// Decrypted values change only the encrypted tokens, never what is sent or when: the client does not stop
// early, and does not repeat a request because an answer looks wrong (ckks/SECURITY.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/encoding/encoder.h"
#include "cmd/generation/client/text_model.h"
#include "cmd/generation/frames.h"
#include "cmd/protocol/locked_folder.h"
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

// The client's record of a text that is being generated, so that a killed run can continue: the tokens so
// far, how they were picked, and the last encrypted request. A folder with two files, for its owner only:
//     text.record   tokens and settings, replaced before a token is shown or sent
//     request.ct    the last request, written before it is sent: the same one is sent again
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
  bounded(t, record.sampler.top_k, 0, INT32_MAX, "top-k");
  wire::list(t, record.tokens, 4, [&](int& token) { t.number(token); });
  bounded(t, record.prompt, 1, static_cast<int>(record.tokens.size()), "prompt's length");
}

class TextFolder {
 public:
  // Makes the folder unless it exists, and locks it. Empty: nothing is kept. Throws Error if another process has it.
  explicit TextFolder(std::string folder);

  // Its files; one that is not there is read as nothing.
  static constexpr const char *kRecord = "/text.record", *kRequest = "/request.ct";
  std::optional<std::string> read(const char* file, uint64_t longest) const;
  void write(const char* file, const std::string& bytes) const;
  std::optional<TextRecord> load(int vocab) const;
  const std::string& path() const { return folder_; }

 private:
  std::string folder_;
  std::optional<LockedFolder> lock_;
};

class TextClient {
 public:
  struct Step {
    int position = 0;  // of the token that was picked
    int token = 0;
    int window = 0;              // the first token that the server saw for it
    std::vector<double> logits;  // decrypted
    double seconds = 0;          // from the one before it
    bool was_prompt = false;     // a whole pass
    int computed = 1;            // tokens that the server computed on for it
  };

  // Reads the server's greeting. `record` is new or was loaded from `folder`. Throws Error if the server has another
  // program or other keys, or does not belong to the record. All arguments must outlive the object.
  TextClient(const TextModel& model, const ckks::SecretKey& secret, Channel& server, TextRecord& record,
             const TextFolder& folder);

  // Picks the next token, appends it to the record and saves the record.
  Step next();
  // The server's figures of its runs.
  Json figures();
  // Counts the ciphertexts that were decrypted: those of the answers that tokens were picked from.
  size_t decrypted() const { return decrypted_; }

 private:
  TextNote note_of(int first, int count) const { return {{d_.id, record_.text, {}}, first, count}; }
  // Sends a request. If the folder has the same request, encrypted earlier, sends that.
  void send(FrameKind kind, TextNote note, const std::vector<PlanEnd>& ends);
  // Sends a frame. If the server is gone, reports the reason that it may have sent.
  void say(FrameKind kind, const std::string& payload);
  Frame receive(uint64_t longest);
  // Receives the answer to the request of `note`. The last token's slots come first. An answer that is not read is
  // checked and not decrypted, and nothing is returned.
  enum class Answer { kRead, kDropped };
  attention::SlotVectors answer_to(const TextNote& note, Answer answer);

  const TextModel& d_;
  const ckks::SecretKey& secret_;
  const ckks::Encoder encoder_;
  const ckks::Decryptor decryptor_;
  ckks::SeededEncryptor encryptor_;
  Channel& server_;
  size_t decrypted_ = 0;
  TextRecord& record_;
  const TextFolder& folder_;
  int window_ = 0, fed_ = 0;  // of the server: the first token in its caches, and the one that comes next
};

}  // namespace psm::cmd
