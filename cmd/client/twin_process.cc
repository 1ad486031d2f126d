#include "cmd/client/twin_process.h"

#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {

template <typename Tables>
void describe(Tables& t, TwinMessage& m) {
  t.text(m.entry);
  wire::integer(t, m.argument);
  wire::flag(t, m.noisy), wire::flag(t, m.strict), wire::flag(t, m.shares);
  wire::map(t, m.slots, 8, [&](std::string& name, std::vector<std::complex<double>>& values) {
    t.text(name);
    wire::list(t, values, 16, [&](std::complex<double>& value) {
      double re = value.real(), im = value.imag();
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

std::string TwinMessage::text() const { return wire::to_bytes(*this); }
TwinMessage TwinMessage::parse(const std::string& bytes) {
  return wire::from_bytes<TwinMessage>(bytes, "a message");
}

TwinProcess::TwinProcess(const std::string& program, uint64_t program_id)
    : process_({sibling_command("twin"), "--program", resolve_user_path(program)}),
      channel_(process_.from(), process_.to(), "the twin", [this] { return process_.ending(); }) {
  if (reply() != std::to_string(program_id))
    throw Error(
        message(program, " is another program than the client file's; give the one compiled with it"));
}

std::string TwinProcess::reply() {
  std::optional<Frame> frame = channel_.receive(kMostTwinBytes);
  if (!frame) throw Error(channel_.gone(), Error::Kind::kFailed);
  if (frame->kind == FrameKind::kRefused) throw Error(frame->payload);
  return std::move(frame->payload);
}

TwinProcess::Outputs TwinProcess::run(const TwinMessage& request) {
  channel_.send(FrameKind::kToken, request.text());
  Outputs outputs{TwinMessage::parse(reply()).slots, {}};
  if (request.noisy) outputs.noisy = TwinMessage::parse(reply()).slots;
  return outputs;
}

}  // namespace psm::cmd
