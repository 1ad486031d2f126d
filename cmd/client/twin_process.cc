#include "cmd/client/twin_process.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 32;

using NamedSlots = std::vector<std::pair<std::string, std::vector<std::complex<double>>>>;

template <typename Tables>
void describe(Tables& t, TwinRequest& request) {
  t.text(request.entry);
  wire::integer(t, request.argument);
  wire::flag(t, request.noisy), wire::flag(t, request.strict), wire::flag(t, request.shares);
}

template <typename Tables>
void describe(Tables& t, NamedSlots& slots) {
  wire::list(t, slots, 8, [&](auto& named) {
    t.text(named.first);
    wire::list(t, named.second, 16, [&](std::complex<double>& value) {
      double re = value.real(), im = value.imag();
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

// False at an end before the first byte.
bool move_all(int descriptor, char* bytes, size_t size, bool out) {
  for (size_t done = 0; done < size;) {
    const ssize_t moved =
        out ? ::write(descriptor, bytes + done, size - done) : ::read(descriptor, bytes + done, size - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0 && done == 0) return false;
    if (moved <= 0) throw Error("the other end of a pipe is gone", Error::Kind::kFailed);
    done += static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace

void send_bytes(int descriptor, const std::string& bytes) {
  uint64_t size = bytes.size();
  move_all(descriptor, reinterpret_cast<char*>(&size), sizeof size, true);
  move_all(descriptor, const_cast<char*>(bytes.data()), bytes.size(), true);
}

bool receive_bytes(int descriptor, std::string& bytes, uint64_t most) {
  uint64_t size = 0;
  if (!move_all(descriptor, reinterpret_cast<char*>(&size), sizeof size, false)) return false;
  if (size > most) throw Error("a pipe carries what no twin sends", Error::Kind::kFailed);
  bytes.resize(size);
  if (!move_all(descriptor, bytes.data(), size, false))
    throw Error("the other end of a pipe is gone", Error::Kind::kFailed);
  return true;
}

std::string TwinRequest::text() const {
  TwinRequest own{entry, argument, noisy, strict, shares, {}};
  NamedSlots list(slots.begin(), slots.end());
  wire::TableWriter tables;
  describe(tables, own), describe(tables, list);
  return {tables.bytes().begin(), tables.bytes().end()};
}

TwinRequest TwinRequest::parse(const std::string& bytes) {
  TwinRequest request;
  NamedSlots list;
  wire::TableReader tables(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), "a request: ");
  describe(tables, request), describe(tables, list);
  if (!tables.at_end()) tables.refuse("there are more bytes than it takes");
  request.slots = {list.begin(), list.end()};
  return request;
}

std::string pack_slots(const attention::SlotVectors& slots) {
  NamedSlots list(slots.begin(), slots.end());
  wire::TableWriter tables;
  describe(tables, list);
  return {tables.bytes().begin(), tables.bytes().end()};
}

attention::SlotVectors unpack_slots(const std::string& bytes) {
  NamedSlots list;
  wire::TableReader tables(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), "slots: ");
  describe(tables, list);
  if (!tables.at_end()) tables.refuse("there are more bytes than they take");
  return {list.begin(), list.end()};
}

TwinProcess::TwinProcess(const std::string& program, uint64_t program_id)
    : process_({sibling_command("twin"), "--program", resolve_user_path(program), "--pipe"}) {
  const std::string id = reply();
  if (id != std::to_string(program_id))
    throw Error(
        message(program, " is another program than the client file's; give the one compiled with it"));
}

std::string TwinProcess::reply() {
  std::string bytes;
  if (!receive_bytes(process_.from(), bytes, kMostBytes) || bytes.empty())
    throw Error("the twin ended before it answered", Error::Kind::kFailed);
  if (bytes[0] != '+') throw Error(bytes.substr(1));
  return bytes.substr(1);
}

TwinProcess::Outputs TwinProcess::run(const TwinRequest& request) {
  send_bytes(process_.to(), request.text());
  Outputs outputs{unpack_slots(reply()), {}};
  if (request.noisy) outputs.noisy = unpack_slots(reply());
  return outputs;
}

}  // namespace psm::cmd
