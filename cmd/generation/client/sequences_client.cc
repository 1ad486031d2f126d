#include "cmd/generation/client/sequences_client.h"

#include <utility>

#include "ckks/base/error.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {

SequencesClient::SequencesClient(const GenerationDeployment& deployment, const ckks::SecretKey& secret,
                                 FrameChannel& server, uint64_t text, std::vector<std::vector<int>> prompts,
                                 const Sampler& sampler)
    : d_(deployment),
      server_(deployment, secret, server, "begin anew"),
      text_(text),
      texts_(std::move(prompts)),
      sampler_(sampler) {
  if (texts_.empty() || static_cast<int>(texts_.size()) > d_.packing.prompts)
    throw Error(message(texts_.size(), " prompts for ", d_.packing.prompts,
                        " sequences; give at least one and no more than there are"));
  for (const std::vector<int>& prompt : texts_)
    if (prompt.empty() || static_cast<int>(prompt.size()) > d_.tokens())
      throw Error(message("a prompt of ", prompt.size(), " tokens; give 1 to ", d_.tokens()));
  if (server_.greeting().text != 0) throw Error("the server keeps a text already; begin with a new one");
}

SequencesClient::Step SequencesClient::next() {
  const double begin = seconds_now();
  if (position_ >= d_.tokens())
    throw Error(message("all ", d_.tokens(), " places of keys and values are taken"));
  std::vector<std::vector<int>> tokens;
  for (const std::vector<int>& text : texts_) tokens.push_back({text[position_]});
  const std::vector<PlanEnd> ends = d_.token_inputs();
  TextNote note = server_.note_of(text_, position_, 1);
  note.names = names_of(ends);
  server_.say(FrameKind::kToken, server_.encrypted(note, tokens, ends));
  Step step{attention::client_logits(d_.model, d_.packing, server_.answer_to(note, 0), tokens), 0};
  ++position_;
  for (size_t u = 0; u < texts_.size(); ++u) {
    if (static_cast<int>(texts_[u].size()) > position_) continue;  // its prompt
    Sampler own = sampler_;
    own.seed += u;
    texts_[u].push_back(own.pick(step.logits[u], position_));
  }
  step.seconds = seconds_now() - begin;
  return step;
}

}  // namespace psm::cmd
