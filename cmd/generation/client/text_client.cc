#include "cmd/generation/client/text_client.h"

#include <algorithm>
#include <utility>

#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment/client/client.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {

TextClient::TextClient(const GenerationDeployment& deployment, const ckks::SecretKey& secret,
                       FrameChannel& server, TextRecord& record, const TextFolder& folder)
    : d_(deployment),
      encoder_(*d_.context),
      decryptor_(secret, encoder_),
      encryptor_(secret),
      secret_(secret),
      server_(server),
      record_(record),
      folder_(folder) {
  const Frame frame = receive(kMaxLine);
  if (frame.kind != FrameKind::kReady)
    throw Error("the server does not begin with its greeting; is it //cmd:serve?");
  const Greeting greeting = Greeting::parse(frame.payload, "the server's greeting");
  if (greeting.model != d_.model_id)
    throw Error("the server has another model; give both sides the same --model");
  if (greeting.parameters != d_.context->fingerprint() || greeting.keys != secret_.fingerprint().key)
    throw Error("the server's evaluation keys belong to another key pair; give it those of --keys");
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

void TextClient::say(FrameKind kind, const std::string& payload) {
  try {
    server_.send(kind, payload);
  } catch (const Error&) {
    while (true) receive(kMaxLine);  // what it said last, or that it is gone
  }
}

Frame TextClient::receive(uint64_t longest) {
  std::optional<Frame> frame = server_.receive(std::max(longest, kMaxLine));
  if (!frame)
    throw Error(message("the server is gone; ", folder_.path().empty()
                                                    ? "with --state a run can go on from its last token"
                                                    : "the same command goes on from the last token"));
  if (frame->kind == FrameKind::kRefused) throw Error(frame->payload);
  return *std::move(frame);
}

std::string TextClient::encrypted(const TextNote& note, const std::vector<int>& tokens,
                                  const std::vector<PlanEnd>& ends) {
  const attention::SlotVectors inputs =
      attention::client_inputs(d_.model, d_.packing, std::vector<std::vector<int>>{tokens});
  std::string bytes;
  wire::CiphertextWriter writer(&bytes, *d_.context, secret_.fingerprint(), note.text());
  for (const ckks::Plaintext& plaintext : encode_inputs(encoder_, ends, inputs))
    writer.write(encryptor_.encrypt(plaintext));
  writer.commit();
  return bytes;
}

void TextClient::send(FrameKind kind, TextNote note, const std::vector<PlanEnd>& ends) {
  note.names = names_of(ends);
  if (const std::optional<std::string> saved = folder_.request(longest_file(*d_.context, ends))) {
    wire::CiphertextReader file(ByteSource(folder_.path() + "/request.ct", *saved), *d_.context,
                                kMaxCiphertexts);
    if (file.note() == note.text() && file.fingerprint() == secret_.fingerprint()) return say(kind, *saved);
  }
  const auto begin = record_.tokens.begin() + note.first;
  const std::string bytes = encrypted(note, {begin, begin + note.count}, ends);
  folder_.save_request(bytes);
  say(kind, bytes);
}

std::vector<double> TextClient::logits_of(const std::string& answer, const TextNote& expected) {
  const std::vector<PlanEnd> ends = d_.outputs(expected.first, window_);
  wire::CiphertextReader file(ByteSource("the server's answer", answer), *d_.context, ends.size());
  const TextNote note = TextNote::parse(file.note(), "the server's answer");
  require_groups(file, note, ends, *d_.context, d_.model_id, "the server's answer", "--model");
  if (note.request != expected.request || note.first != expected.first || note.count != expected.count)
    throw Error("the server's answer is to another request");
  // The last token comes to the first place.
  const ptrdiff_t shift = static_cast<ptrdiff_t>(note.count - 1) * d_.packing.features;
  attention::SlotVectors outputs;
  for (size_t i = 0; i < ends.size(); ++i) {
    std::vector<std::complex<double>> slots = decryptor_.decrypt(file.load(i));
    std::rotate(slots.begin(), slots.begin() + shift, slots.end());
    outputs.emplace(ends[i].name, std::move(slots));
  }
  return attention::client_logits(d_.model, d_.packing, outputs, std::vector<std::vector<int>>{{0}})[0];
}

TextNote TextClient::note_of(int first, int count) const {
  TextNote note;
  note.model_fingerprint = d_.model_id;
  note.request = record_.text;
  note.first = first;
  note.count = count;
  return note;
}

std::string TextClient::answer_to(const TextNote& note) {
  Frame frame = receive(longest_file(*d_.context, d_.outputs(note.first, window_)));
  if (frame.kind != FrameKind::kAnswer) throw Error("the server sent something else than an answer");
  return std::move(frame.payload);
}

TextClient::Step TextClient::next() {
  const double begin = seconds_now();
  const int known = static_cast<int>(record_.tokens.size()), T = d_.tokens();
  const bool prompts = d_.takes_prompts();
  const int fed = fed_;
  for (; !prompts && fed_ < known - 1; ++fed_) {
    const TextNote note = note_of(fed_, 1);
    send(FrameKind::kToken, note, d_.token_inputs());
    answer_to(note);
  }
  TextNote note;
  bool whole = false;
  if (fed_ == known) {  // the answer was computed before this run began
    whole = prompts && (window_ == 0 ? known == record_.prompt : known - window_ == T / 2);
    note = whole ? note_of(window_, known - window_) : note_of(known - 1, 1);
    say(FrameKind::kRepeat, {});
  } else if (fed_ == 0 && prompts) {
    whole = true;
    note = note_of(0, known);
    send(FrameKind::kPrompt, note, d_.prompt_inputs());
  } else if (known - window_ <= T) {
    note = note_of(known - 1, 1);
    send(FrameKind::kToken, note, d_.token_inputs());
  } else {
    PSM_CHECK(prompts, "a window slides by prompts");
    whole = true;
    window_ = known - T / 2;
    note = note_of(window_, T / 2);
    send(FrameKind::kPrompt, note, d_.prompt_inputs());
  }
  const std::string answer = answer_to(note);
  fed_ = known;
  Step step{.position = known,
            .token = 0,
            .window = window_,
            .logits = logits_of(answer, note),
            .seconds = 0,
            .was_prompt = whole,
            .computed = known - fed};
  step.token = record_.sampler.pick(step.logits, known);
  record_.tokens.push_back(step.token);
  folder_.save(record_);
  step.seconds = seconds_now() - begin;
  return step;
}

Json TextClient::figures() {
  say(FrameKind::kFigures, {});
  const Frame frame = receive(kMaxFigures);
  if (frame.kind != FrameKind::kFigures) throw Error("the server sent something else than its figures");
  return parse_json(frame.payload, "the server's figures", {.max_bytes = kMaxFigures, .max_values = 1 << 22});
}

}  // namespace psm::cmd
