#include "cmd/generation/client/text_client.h"

#include "ckks/base/error.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

TextClient::TextClient(const TextModel& model, const ckks::SecretKey& secret, Channel& server,
                       TextRecord& record, const TextFolder& folder)
    : d_(model),
      secret_(secret),
      server_(model, secret, server,
              folder.path().empty() ? "with --state a run can go on from its last token"
                                    : "the same command goes on from the last token"),
      record_(record),
      folder_(folder) {
  const Greeting& greeting = server_.greeting();
  if (greeting.text == 0 && static_cast<int>(record_.tokens.size()) > record_.prompt)
    throw Error(
        message("the server keeps no text, but ", record_.tokens.size() - record_.prompt,
                " tokens were generated; give it the --state that it had, or begin in a new --state"));
  if (greeting.text == 0) return;
  if (greeting.text != record_.text)
    throw Error(
        "the server keeps another text than this --state; give it another --state, or go on with that one");
  window_ = greeting.window;
  fed_ = greeting.next;
  const int known = static_cast<int>(record_.tokens.size());
  // A prompt that comes token by token may have stopped anywhere.
  const bool in_prompt = !d_.takes_prompts() && known == record_.prompt && fed_ < known;
  if (fed_ != known && fed_ != known - 1 && !in_prompt)
    throw Error(message("the server has computed ", fed_, " tokens of this text, of which ", known,
                        " are in --state: they do not belong together; begin in a new --state"));
}

void TextClient::send(FrameKind kind, TextNote note, const std::vector<PlanEnd>& ends) {
  note.names = names_of(ends);
  if (const std::optional<std::string> saved = folder_.request(longest_file(*d_.context, ends))) {
    wire::CiphertextReader file(ByteSource(folder_.path() + "/request.ct", *saved), *d_.context,
                                kMaxCiphertexts);
    if (file.note() == note_text(note) && file.fingerprint() == secret_.fingerprint())
      return server_.say(kind, *saved);
  }
  const auto begin = record_.tokens.begin() + note.first;
  const std::string bytes = server_.encrypted(note, {{begin, begin + note.count}}, ends);
  folder_.save_request(bytes);
  server_.say(kind, bytes);
}

TextClient::Step TextClient::next() {
  const double begin = seconds_now();
  const int known = static_cast<int>(record_.tokens.size()), T = d_.tokens;
  const bool prompts = d_.takes_prompts();
  const int fed = fed_;
  for (; !prompts && fed_ < known - 1; ++fed_) {
    const TextNote note = note_of(fed_, 1);
    send(FrameKind::kToken, note, d_.token_inputs);
    server_.answer_to(note, window_, Conversation::Answer::kDropped);
  }
  TextNote note;
  bool whole = false;
  if (fed_ == known) {  // the answer was computed before this run began
    whole = prompts && (window_ == 0 ? known == record_.prompt : known - window_ == T / 2);
    note = whole ? note_of(window_, known - window_) : note_of(known - 1, 1);
    server_.say(FrameKind::kRepeat, {});
  } else if (fed_ == 0 && prompts) {
    whole = true;
    note = note_of(0, known);
    send(FrameKind::kPrompt, note, d_.prompt_inputs);
  } else if (known - window_ <= T) {
    note = note_of(known - 1, 1);
    send(FrameKind::kToken, note, d_.token_inputs);
  } else {
    PSM_CHECK(prompts, "a window slides by prompts");
    whole = true;
    window_ = known - T / 2;
    note = note_of(window_, T / 2);
    send(FrameKind::kPrompt, note, d_.prompt_inputs);
  }
  const attention::SlotVectors answer = server_.answer_to(note, window_, Conversation::Answer::kRead);
  fed_ = known;
  Step step{.position = known,
            .token = 0,
            .window = window_,
            .logits = attention::client_logits(d_.file.model, answer, std::vector<std::vector<int>>{{0}})[0],
            .seconds = 0,
            .was_prompt = whole,
            .computed = known - fed};
  step.token = record_.sampler.pick(step.logits, known);
  record_.tokens.push_back(step.token);
  folder_.save(record_);
  step.seconds = seconds_now() - begin;
  return step;
}

}  // namespace psm::cmd
