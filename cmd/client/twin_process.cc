#include "cmd/client/twin_process.h"

#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

template <typename Tables>
void describe_slots(Tables& t, attention::SlotVectors& slots) {
  wire::map(t, slots, 8, [&](std::string& name, std::vector<std::complex<double>>& values) {
    t.text(name);
    wire::list(t, values, 16, [&](std::complex<double>& value) {
      double re = value.real(), im = value.imag();
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

struct Slots {
  attention::SlotVectors slots;
};
template <typename Tables>
void describe(Tables& t, Slots& own) {
  describe_slots(t, own.slots);
}

}  // namespace

template <typename Tables>
void describe(Tables& t, TwinRequest& r) {
  t.text(r.entry);
  wire::integer(t, r.argument);
  wire::flag(t, r.noisy), wire::flag(t, r.strict), wire::flag(t, r.shares);
  describe_slots(t, r.slots);
}

std::string TwinRequest::text() const { return wire::to_bytes(*this); }
TwinRequest TwinRequest::parse(const std::string& bytes) {
  return wire::from_bytes<TwinRequest>(bytes, "a request");
}

std::string pack_slots(const attention::SlotVectors& slots) { return wire::to_bytes(Slots{slots}); }
attention::SlotVectors unpack_slots(const std::string& bytes) {
  return wire::from_bytes<Slots>(bytes, "slots").slots;
}

TwinProcess::TwinProcess(const std::string& program, uint64_t program_id)
    : process_({sibling_command("twin"), "--program", resolve_user_path(program), "--pipe"}),
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

TwinProcess::Outputs TwinProcess::run(const TwinRequest& request) {
  channel_.send(FrameKind::kToken, request.text());
  Outputs outputs{unpack_slots(reply()), {}};
  if (request.noisy) outputs.noisy = unpack_slots(reply());
  return outputs;
}

}  // namespace psm::cmd
