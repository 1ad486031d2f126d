#include "cmd/generation/server/text_server.h"

#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/progress.h"
#include "cmd/protocol/group_files.h"

namespace psm::cmd {
namespace {

// Those that are held before the engine is chosen.
const ckks::EvaluationKeys& first_keys(const TextProgram& program, HeldKeys& keys, const KeptText& kept,
                                       bool on_device) {
  keys.require(program.keys);
  keys.hold(on_device                                     ? program.keys
            : program.takes_prompts() && kept.text() == 0 ? program.prompt().keys
                                                          : program.token().keys);
  return keys.keys();
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TextServer::TextServer(const TextProgram& program, const std::string& keys, const std::string& state,
                       std::unique_ptr<const ckks::Engine> device, EncryptedWeights* weights)
    : d_(program),
      keys_(keys, *d_.context),
      kept_(state, d_, keys_.keys().fingerprint),
      weights_(weights != nullptr ? weights->read(keys_.keys().fingerprint) : Ciphertexts()),
      on_device_(device != nullptr),
      own_(*d_.context, first_keys(d_, keys_, kept_, on_device_), std::move(device), d_.bootstraps) {}

Greeting TextServer::greeting() const {
  return {d_.id,
          d_.context->fingerprint(),
          own_.evaluator.keys().fingerprint.key,
          kept_.text(),
          kept_.window(),
          kept_.text() == 0 ? 0 : kept_.next()};
}

std::pair<TextNote, Ciphertexts> TextServer::read(const std::string& bytes,
                                                  const std::vector<PlanEnd>& ends) const {
  GroupFile<TextNote> file("the request", bytes, *d_.context, ends.size());  // one group
  if (file.reader.fingerprint() != own_.evaluator.keys().fingerprint)
    throw Error("the request is under another key pair than the server's evaluation keys");
  require_groups(file.reader, file.note, ends, *d_.context, d_.id, "the request", "the server's");
  if (file.note.request == 0) throw Error("the request is of no text");
  return {file.note, file.load(0)};
}

void TextServer::run(program::EncryptedMachine& machine, const TextNote& request, int window,
                     Ciphertexts inputs, program::RunOptions options) {
  program::RunResult result = machine.run(inputs, options);
  inputs.clear();
  Memory* const memory = own_.evaluator.engine().memory();
  for (const auto& [name, level] : d_.caches) {
    ckks::Ciphertext& cache = result.outputs.at(name);
    cache = memory == nullptr ? own_.evaluator.drop_to_level(cache, level)
                              : own_.evaluator.drop_to_level(cache.in(memory), level).in(nullptr);
  }
  TextNote note = request;
  note.names = names_of(d_.outputs(note.first, window));
  runs_.push_back(Json::Object{{"first", note.first},
                               {"count", note.count},
                               {"seconds", sum(result.seconds)},
                               {"encode_seconds", sum(result.encode_seconds)},
                               {"encoded_bytes", machine.encoded_bytes()}});
  kept_.keep(note, window, std::move(result.outputs));
}

void TextServer::prompt(const std::string& bytes) {
  if (!d_.takes_prompts())
    throw Error("a prompt at once, where it comes token by token; send its tokens one by one");
  auto [note, inputs] = read(bytes, d_.prompt_inputs);
  if (kept_.text() != 0 && kept_.text() != note.request)
    throw Error("the server keeps another text; go on with it, or give the server another --state");
  if (kept_.text() == 0 ? note.first != 0 : note.first <= kept_.window())
    throw Error(message("a prompt from token ", note.first, " on, where the server keeps those from ",
                        kept_.window(), " on; send what follows"));
  if (note.count > d_.tokens)
    throw Error(message("a prompt of ", note.count, " tokens; the model has places for ", d_.tokens));
  token_machine_.reset();
  if (!on_device_) keys_.hold(d_.prompt().keys);
  program::EncryptedMachine machine(d_.prompt().plan, own_.encoder, own_.evaluator, &own_.bootstrappers,
                                    {.encoded_bytes = d_.prompt_reading.encoded_limit});
  Progress progress("the prompt's pass", static_cast<double>(d_.prompt().plan.program.instructions.size()));
  run(machine, note, note.first, std::move(inputs),
      {.constants = d_.prompt().constants(note.count),
       .progress = [&](size_t done, size_t) { progress.set(static_cast<double>(done)); }});
}

void TextServer::token(const std::string& bytes) {
  auto [note, inputs] = read(bytes, d_.token_inputs);
  if (kept_.text() == 0 && d_.takes_prompts()) throw Error("a token before any prompt; send a prompt first");
  if (kept_.text() != 0 && kept_.text() != note.request)
    throw Error("the token is of another text than the one that the server keeps");
  if (note.count != 1) throw Error(message(note.count, " tokens at once; send one at a time, or a prompt"));
  const int next = kept_.text() == 0 ? 0 : kept_.next();
  if (note.first < next)
    throw Error(message("token ", note.first, " was computed already; the next one is ", next));
  if (note.first > next) throw Error(message("token ", note.first, " leaves a gap; the next one is ", next));
  if (kept_.cached() >= d_.tokens)
    throw Error(message("all ", d_.tokens,
                        " places of keys and values are taken; send a later part of the text as a prompt"));
  inputs.merge(kept_.caches());
  if (!token_machine_) {
    if (!on_device_) keys_.hold(d_.token().keys);
    token_machine_ = std::make_unique<program::EncryptedMachine>(
        d_.token().plan, own_.encoder, own_.evaluator, &own_.bootstrappers,
        program::MachineOptions{.encoded_bytes = d_.token_reading.encoded_limit, .shared_inputs = &weights_});
  }
  run(*token_machine_, note, kept_.window(), std::move(inputs),
      {.constants = d_.token().constants(kept_.cached())});
}

Frame TextServer::reply(const Frame& request) {
  if (request.kind == FrameKind::kFigures) {
    const Json figures =
        Json::Object{{"runs", runs_},
                     {"peak_rss_bytes", peak_resident_bytes()},
                     {"cache_bytes", kept_.cache_bytes()},
                     {"bootstraps_per_token", d_.token().plan.bootstraps},
                     {"bootstraps_per_prompt", d_.takes_prompts() ? d_.prompt().plan.bootstraps : 0}};
    return {FrameKind::kFigures, figures.dump(0)};
  }
  if (request.kind == FrameKind::kPrompt) {
    prompt(request.payload);
  } else if (request.kind == FrameKind::kToken) {
    token(request.payload);
  } else if (request.kind != FrameKind::kRepeat) {
    throw Error("a frame that only a server sends");
  }
  return {FrameKind::kAnswer, kept_.answer()};
}

Frame TextServer::reply_or_refuse(const Frame& request) {
  try {
    return reply(request);
  } catch (const Error& error) {
    return {FrameKind::kRefused, error.what()};
  }
}

void TextServer::serve(FrameChannel& client) {
  client.send(FrameKind::kReady, note_text(greeting()));
  while (const std::optional<Frame> request = client.receive(longest_request(d_))) {
    const Frame answer = reply_or_refuse(*request);
    client.send(answer.kind, answer.payload);
  }
}

}  // namespace psm::cmd
