#include "cmd/client/client_head.h"

#include <cstring>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/sha256.h"
#include "ckks/wire/scheme_tables.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'C', 'L', 'N', 'T', '\n'};
constexpr uint32_t kVersion = 3;
constexpr size_t kHeaderBytes = sizeof kMagic + 4;
constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

template <typename Tables>
void describe_ends(Tables& t, std::vector<PlanEnd>& ends) {
  wire::list(t, ends, 8, [&](PlanEnd& end) { wire::name(t, end.name), wire::describe(t, end.level); });
}

template <typename Tables>
void describe(Tables& t, ClientHead& head) {
  for (uint8_t& byte : head.program) t.number(byte);
  wire::describe(t, head.spec);
  wire::describe(t, head.keys);
  wire::list(t, head.entries, 12, [&](ClientEntry& entry) {
    wire::name(t, entry.name), describe_ends(t, entry.inputs), describe_ends(t, entry.outputs);
  });
}

uint64_t first_bytes(const uint8_t* at) { return wire::get<uint64_t>(at); }

// What the client's own tables allow.
void check(ClientHead& head, const wire::TableReader& tables) {
  try {
    head.context = std::make_shared<const ckks::Context>(head.spec);
  } catch (const Error& error) {
    tables.refuse(message("its parameters are refused: ", error.what()));
  }
  const ckks::Chain& chain = head.context->chain();
  const auto require_level = [&](ckks::Level level) {
    if (level < 0 || level > chain.max_level)
      tables.refuse(message("level ", int{level}, " of ", int{chain.max_level}, "; compile the model again"));
  };
  for (const ckks::Level level : head.keys.relinearisation_levels) require_level(level);
  const uint64_t order = uint64_t{2} << chain.log_n;
  for (const auto& [element, levels] : head.keys.galois_levels) {
    if (element % 2 == 0 || element >= order) tables.refuse("it asks for a key of no automorphism");
    for (const ckks::Level level : levels) require_level(level);
  }
  if (const size_t count = head.keys.count(chain); count > ClientHead::kMostKeys)
    tables.refuse(message("it asks for ", count, " keys; at most ", ClientHead::kMostKeys));
  if (head.keys.encapsulation && !head.context->can_bootstrap())
    tables.refuse("it asks for a bootstrap's keys, and its parameters have none");
  for (const ClientEntry& entry : head.entries)
    for (const std::vector<PlanEnd>* ends : {&entry.inputs, &entry.outputs}) {
      if (ends->empty() || ends->size() > kMaxCiphertexts)
        tables.refuse(message("entry point ", entry.name, " takes or makes ", ends->size(),
                              " ciphertexts; 1 to ", kMaxCiphertexts, " are possible"));
      for (const PlanEnd& end : *ends) require_level(end.level);
    }
}

}  // namespace

uint64_t ClientHead::program_id() const { return first_bytes(program.data()); }

PlanEnds ClientHead::ends(const std::string& name) const {
  for (const ClientEntry& entry : entries)
    if (entry.name == name) return {program_id(), context->fingerprint(), entry.inputs, entry.outputs};
  throw Error(message("this program has no entry point '", name, "'; compile the model for it"));
}

std::string ClientHead::request_text() const {
  const ckks::Chain& chain = context->chain();
  return message(keys.count(chain), " evaluation keys (", bytes_text(static_cast<double>(keys.bytes(chain))),
                 " in the server's memory)");
}

ClientTables::ClientTables(const std::string& path, ClientHead& head) : bytes_(read_file(path, kMaxBytes)) {
  const std::string begin = message("cannot read ", path, ": ");
  const auto* at = reinterpret_cast<const uint8_t*>(bytes_.data());
  Sha256::Digest digest;
  if (bytes_.size() < kHeaderBytes || std::memcmp(at, kMagic, sizeof kMagic) != 0)
    throw Error(begin + "it is no client file; take the NAME.client of bazel run //cmd:compile");
  const uint8_t* version = at + sizeof kMagic;
  if (const auto number = wire::get<uint32_t>(version); number != kVersion)
    throw Error(message(begin, "it has version ", number, ", this is version ", kVersion,
                        "; compile the model again"));
  if (bytes_.size() < kHeaderBytes + digest.size()) throw Error(begin + "it was cut; copy it again");
  const size_t size = bytes_.size() - kHeaderBytes - digest.size();
  std::memcpy(digest.data(), at + kHeaderBytes + size, digest.size());
  if (sha256(at + kHeaderBytes, size) != digest)
    throw Error(begin + "it is damaged or was cut; copy it again");
  tables_ = std::make_unique<wire::TableReader>(at + kHeaderBytes, size, begin);
  describe(*tables_, head);
  check(head, *tables_);
  head.id = first_bytes(digest.data());
}

ClientHead read_client_head(const std::string& path) {
  ClientHead head;
  ClientTables(path, head);
  return head;
}

void write_client_head(ClientHead& head, wire::TableWriter& tables) { describe(tables, head); }

void save_client_tables(const std::string& path, ClientHead& head, const wire::TableWriter& tables) {
  std::vector<uint8_t> header(kMagic, kMagic + sizeof kMagic);
  wire::put(header, kVersion);
  const Sha256::Digest digest = sha256(tables.bytes().data(), tables.bytes().size());
  head.id = first_bytes(digest.data());
  AtomicFile out(path);
  out.write(header.data(), header.size());
  out.write(tables.bytes().data(), tables.bytes().size());
  out.write(digest.data(), digest.size());
  out.commit();
}

}  // namespace psm::cmd
