#include "cmd/generation/client/conversation.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/client/encoding.h"
#include "cmd/protocol/group_files.h"

namespace psm::cmd {
namespace {

TextEnds ends_of(const ClientFile& file) {
  const ClientEntry missing{}, *prompt = &missing, *token = &missing;
  for (const ClientEntry& entry : file.entries) {
    if (entry.name == kPrompt) prompt = &entry;
    if (entry.name == kToken) token = &entry;
  }
  TextEnds ends({0, prompt->inputs, prompt->outputs}, {0, token->inputs, token->outputs});
  ends.prompt_overflow = prompt->overflow, ends.token_overflow = token->overflow;
  return ends;
}

}  // namespace

TextModel::TextModel(ClientFile client) : TextEnds(ends_of(client)), file(std::move(client)) {
  id = file.program_id();
  context = file.context;
  tokens = file.model.shape.context;
  std::vector<std::string> names;
  for (const ClientWeight& weight : file.weights) names.push_back(weight.name);
  if (names != names_of(weights))
    throw Error("the client file's weights are not those of its program; compile the model again");
}

Conversation::Conversation(const TextModel& model, const ckks::SecretKey& secret, Channel& server,
                           std::string when_gone)
    : d_(model),
      encoder_(*d_.context),
      decryptor_(secret),
      encryptor_(secret),
      secret_(secret),
      server_(server),
      when_gone_(std::move(when_gone)) {
  const Frame frame = receive(kMaxLine);
  if (frame.kind != FrameKind::kReady)
    throw Error("the server does not begin with its greeting; is it //cmd:serve?");
  greeting_ = parse_note<Greeting>(frame.payload, "the server's greeting");
  if (greeting_.program != d_.id)
    throw Error(
        "the server has another program, or other weights; give both sides what was compiled together");
  if (greeting_.parameters != d_.context->fingerprint() || greeting_.keys != secret_.fingerprint().key)
    throw Error("the server's evaluation keys belong to another key pair; give it those of --keys");
}

void Conversation::say(FrameKind kind, const std::string& payload) {
  try {
    server_.send(kind, payload);
  } catch (const Error&) {
    receive(kMaxLine);  // throws what it said last, or that it is gone
    throw;
  }
}

Frame Conversation::receive(uint64_t longest) {
  std::optional<Frame> frame = server_.receive(std::max(longest, kMaxLine));
  if (!frame) throw Error(message(server_.gone(), "; ", when_gone_));
  if (frame->kind == FrameKind::kRefused) throw Error(frame->payload);
  return *std::move(frame);
}

TextNote Conversation::note_of(uint64_t text, int first, int count) const {
  return {{d_.id, text, {}}, first, count};
}

std::string Conversation::encrypted(const TextNote& note, int window,
                                    const std::vector<std::vector<int>>& tokens,
                                    const std::vector<PlanEnd>& ends) {
  const attention::SlotVectors inputs = attention::client_inputs(d_.file.model, tokens, note.first - window);
  std::string bytes;
  wire::CiphertextWriter writer(&bytes, *d_.context, secret_.fingerprint(), note_text(note));
  for (const ckks::Plaintext& plaintext : encode_inputs(encoder_, ends, inputs))
    writer.write(encryptor_.encrypt(plaintext));
  writer.commit();
  return bytes;
}

attention::SlotVectors Conversation::answer_to(const TextNote& expected, int window, Answer answer) {
  const std::vector<PlanEnd> ends = d_.outputs(expected.first, window);
  const Frame frame = receive(longest_file(*d_.context, ends));
  if (frame.kind != FrameKind::kAnswer) throw Error("the server sent something else than an answer");
  wire::CiphertextReader file(ByteSource("the server's answer", frame.payload), *d_.context, ends.size());
  const TextNote note = parse_note<TextNote>(file.note(), "the server's answer");
  require_groups(file, note, ends, *d_.context, d_.id, "the server's answer", "the client");
  if (note.request != expected.request || note.first != expected.first || note.count != expected.count)
    throw Error("the server's answer is to another request");
  const ptrdiff_t shift = static_cast<ptrdiff_t>(note.count - 1) * d_.file.model.packing.features;
  attention::SlotVectors outputs;
  for (size_t i = 0; i < ends.size(); ++i) {
    const ckks::Ciphertext ciphertext = file.load(i);
    ckks::require_owner(ciphertext, secret_);
    if (answer == Answer::kDropped) continue;
    std::vector<std::complex<double>> slots = decryptor_.decrypt(ciphertext);
    ++decrypted_;
    std::rotate(slots.begin(), slots.begin() + shift, slots.end());
    outputs.emplace(ends[i].name, std::move(slots));
  }
  return outputs;
}

Json Conversation::figures() {
  say(FrameKind::kFigures, {});
  const Frame frame = receive(kMaxFigures);
  if (frame.kind != FrameKind::kFigures) throw Error("the server sent something else than its figures");
  return parse_json(frame.payload, "the server's figures", {.max_bytes = kMaxFigures, .max_values = 1 << 22});
}

}  // namespace psm::cmd
