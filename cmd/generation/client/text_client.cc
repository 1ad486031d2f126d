#include "cmd/generation/client/text_client.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/secrecy.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/client/encoding.h"
#include "cmd/protocol/group_files.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxBytes = 256 << 20;

// Orders as the numbers do, -0 like 0. Below them all: 0, of what is not a number.
uint64_t order(double z) {
  const auto bits = std::bit_cast<uint64_t>(z + 0.0);
  const uint64_t negative = 0 - (bits >> 63), number = 0 - uint64_t{z == z};
  return (bits ^ (negative | uint64_t{1} << 63)) & number;
}

}  // namespace

int Sampler::pick(std::span<const double> logits, int position) const {
  const bool some = temperature > 0 && top_k > 0;
  const size_t most = some ? std::min<size_t>(top_k, logits.size()) : logits.size();
  // The largest that as many logits reach, bit by bit.
  uint64_t border = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint64_t raised = border | uint64_t{1} << bit;
    size_t reach = 0;
    for (const double z : logits) reach += order(z) >= raised;
    border |= uint64_t{reach >= most} << bit;
  }
  TrainingRandom random = TrainingRandom(seed).split(static_cast<uint64_t>(position));
  uint64_t largest = 0, token = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double uniform = (static_cast<double>(random.next_u64() >> 12) + 0.5) * 0x1p-52;
    const double gumbel = -std::log(-std::log(uniform));
    const uint64_t among = 0 - uint64_t{order(logits[i]) >= border};
    const uint64_t score = order(logits[i] + temperature * gumbel) & among;
    const uint64_t larger = 0 - uint64_t{score > largest};
    largest ^= (largest ^ score) & larger;
    token ^= (token ^ i) & larger;
  }
  return static_cast<int>(declassify(token));  // its row of the embedding is an address
}

TextRecord TextRecord::parse(const std::string& note, const std::string& path, int vocab) {
  const auto record = parse_note<TextRecord>(note, path);
  for (const int token : record.tokens)
    if (token < 0 || token >= vocab)
      throw Error(message(path, " has the token ", token, ", and the model has tokens below ", vocab));
  if (!(record.sampler.temperature >= 0) || !std::isfinite(record.sampler.temperature))
    throw Error(path + " has a temperature that is no number");
  return record;
}

TextFolder::TextFolder(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) lock_.emplace(folder_, "keep a text in", "process goes on with the text in");
}

std::optional<std::string> TextFolder::read(const char* file, uint64_t longest) const {
  if (folder_.empty() || !std::filesystem::exists(folder_ + file)) return std::nullopt;
  return read_file(folder_ + file, longest);
}

void TextFolder::write(const char* file, const std::string& bytes) const {
  if (!folder_.empty()) write_file(folder_ + file, bytes, AtomicFile::Kind::kSecret);
}

std::optional<TextRecord> TextFolder::load(int vocab) const {
  const std::optional<std::string> note = read(kRecord, kMaxBytes);
  if (!note) return std::nullopt;
  return TextRecord::parse(*note, folder_ + kRecord, vocab);
}

TextClient::TextClient(const TextModel& model, const ckks::SecretKey& secret, Channel& server,
                       TextRecord& record, const TextFolder& folder)
    : d_(model),
      secret_(secret),
      encoder_(*d_.context),
      decryptor_(secret),
      encryptor_(secret),
      server_(server),
      record_(record),
      folder_(folder) {
  const Frame frame = receive(kMaxLine);
  if (frame.kind != FrameKind::kReady)
    throw Error("the server does not begin with its greeting; is it //cmd:serve?");
  const auto greeting = parse_note<Greeting>(frame.payload, "the server's greeting");
  if (greeting.program != d_.id)
    throw Error(
        "the server has another program, or other weights; give both sides what was compiled together");
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
  if (const int kept = fed_ - window_; kept < 1 || kept > d_.tokens)
    throw Error(message("the server keeps ", kept, " tokens of this text, where the model has ", d_.tokens,
                        " places; begin in a new --state"));
}

void TextClient::say(FrameKind kind, const std::string& payload) {
  try {
    server_.send(kind, payload);
  } catch (const Error&) {
    receive(kMaxLine);  // throws what it said last, or that it is gone
    throw;
  }
}

Frame TextClient::receive(uint64_t longest) {
  std::optional<Frame> frame = server_.receive(std::max(longest, kMaxLine));
  if (!frame)
    throw Error(message(server_.gone(), folder_.path().empty()
                                            ? "; with --state a run can go on from its last token"
                                            : "; the same command goes on from the last token"));
  if (frame->kind == FrameKind::kRefused) throw Error(frame->payload);
  return *std::move(frame);
}

void TextClient::send(FrameKind kind, TextNote note, const std::vector<PlanEnd>& ends) {
  note.names = names_of(ends);
  if (const auto saved = folder_.read(TextFolder::kRequest, longest_request(d_))) {
    wire::CiphertextReader file(ByteSource(folder_.path() + TextFolder::kRequest, *saved), *d_.context,
                                kMaxCiphertexts);
    if (file.note() == note_text(note) && file.fingerprint() == secret_.fingerprint())
      return say(kind, *saved);
  }
  const auto begin = record_.tokens.begin() + note.first;
  const std::vector<std::vector<int>> tokens{{begin, begin + note.count}};
  const attention::SlotVectors inputs = attention::client_inputs(d_.file.model, tokens, note.first - window_);
  std::string bytes;
  wire::CiphertextWriter writer(&bytes, *d_.context, secret_.fingerprint(), note_text(note));
  for (const ckks::Plaintext& plaintext : encode_inputs(encoder_, ends, inputs))
    writer.write(encryptor_.encrypt(plaintext));
  writer.commit();
  folder_.write(TextFolder::kRequest, bytes);
  say(kind, bytes);
}

attention::SlotVectors TextClient::answer_to(const TextNote& expected, Answer answer) {
  const std::vector<PlanEnd> ends = d_.outputs(expected.first, window_);
  const Frame frame = receive(longest_file(*d_.context, ends));
  if (frame.kind != FrameKind::kAnswer) throw Error("the server sent something else than an answer");
  const char* const what = "the server's answer";
  GroupFile<TextNote> file(what, frame.payload, *d_.context, ends.size());  // one group
  const TextNote& note = file.note;
  require_groups(file.reader, note, ends, *d_.context, d_.id, what, "the client");
  if (note.request != expected.request || note.first != expected.first || note.count != expected.count)
    throw Error("the server's answer is to another request");
  const ptrdiff_t shift = static_cast<ptrdiff_t>(note.count - 1) * d_.file.model.packing.features;
  attention::SlotVectors outputs;
  for (const auto& [name, ciphertext] : file.load(0)) {
    ckks::require_owner(ciphertext, secret_);
    if (answer == Answer::kDropped) continue;
    std::vector<std::complex<double>> slots = decryptor_.decrypt(ciphertext);
    ++decrypted_;
    std::rotate(slots.begin(), slots.begin() + shift, slots.end());
    outputs.emplace(name, std::move(slots));
  }
  return outputs;
}

Json TextClient::figures() {
  say(FrameKind::kFigures, {});
  const Frame frame = receive(kMaxFigures);
  if (frame.kind != FrameKind::kFigures) throw Error("the server sent something else than its figures");
  return parse_json(frame.payload, "the server's figures", {.max_bytes = kMaxFigures, .max_values = 1 << 22});
}

TextClient::Step TextClient::next() {
  const double begin = seconds_now();
  const int known = static_cast<int>(record_.tokens.size()), T = d_.tokens;
  const bool prompts = d_.takes_prompts();
  const int fed = fed_;
  for (; !prompts && fed_ < known - 1; ++fed_) {
    const TextNote note = note_of(fed_, 1);
    send(FrameKind::kToken, note, d_.token_inputs);
    answer_to(note, Answer::kDropped);
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
  attention::SlotVectors answer = answer_to(note, Answer::kRead);
  fed_ = known;
  Step step{.position = known,
            .window = window_,
            .logits = attention::client_logits(d_.file.model, answer, std::vector<std::vector<int>>{{0}})[0],
            .was_prompt = whole,
            .computed = known - fed};
  for (auto& [name, slots] : answer) secure_zero(slots.data(), slots.size() * sizeof slots[0]);
  step.token = record_.sampler.pick(step.logits, known);
  record_.tokens.push_back(step.token);
  folder_.write(TextFolder::kRecord, note_text(record_));
  step.seconds = seconds_now() - begin;
  return step;
}

}  // namespace psm::cmd
