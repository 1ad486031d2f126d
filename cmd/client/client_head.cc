#include "cmd/client/client_head.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/scheme_tables.h"

namespace psm::cmd {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'C', 'L', 'N', 'T', '\n'};
constexpr uint32_t kVersion = 10;
constexpr size_t kHeaderBytes = 32, kAlignment = 64;

uint64_t aligned(uint64_t place) { return (place + kAlignment - 1) / kAlignment * kAlignment; }

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
    t.number(entry.overflow);
  });
}

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
  for (const auto* turned : {&head.keys.galois_levels, &head.keys.raised_levels})
    for (const auto& [element, levels] : *turned) {
      if (element % 2 == 0 || element >= order) tables.refuse("it asks for a key of no automorphism");
      if (levels.empty()) tables.refuse("it asks for a key at no level");
      for (const ckks::Level level : levels) require_level(level);
    }
  if (const size_t count = head.keys.count(chain); count > ClientHead::kMostKeys)
    tables.refuse(message("it asks for ", count, " keys; at most ", ClientHead::kMostKeys));
  if (!head.keys.raised_levels.empty() && !head.context->can_bootstrap())
    tables.refuse("it asks for a bootstrap's keys, and its parameters have none");
  for (const ClientEntry& entry : head.entries) {
    if (!std::isfinite(entry.overflow) || entry.overflow < 0)
      tables.refuse("its probability of an overflow is negative or no number");
    for (const std::vector<PlanEnd>* ends : {&entry.inputs, &entry.outputs}) {
      if (ends->empty()) tables.refuse(message("entry point ", entry.name, " takes or makes 0 ciphertexts"));
      try {
        require_sendable(*ends);
      } catch (const Error& error) {
        tables.refuse(error.what());
      }
      for (const PlanEnd& end : *ends) require_level(end.level);
    }
  }
}

}  // namespace

uint64_t ClientHead::program_id() const {
  const uint8_t* at = program.data();
  return wire::get<uint64_t>(at);
}

PlanEnds ClientHead::ends(const std::string& name) const {
  for (const ClientEntry& entry : entries)
    if (entry.name == name) return {program_id(), entry.inputs, entry.outputs};
  throw Error(message("this program has no entry point '", name, "'; compile the model for it"));
}

ClientTables::ClientTables(const std::string& path, ClientHead& head)
    : begin_(message("cannot read ", path, ": ")), source_(path) {
  std::array<uint8_t, kHeaderBytes> header;
  if (!source_.read(header.data(), header.size()) || std::memcmp(header.data(), kMagic, sizeof kMagic) != 0)
    throw Error(begin_ + "it is no client file; take the NAME.client of bazel run //cmd:compile");
  const uint8_t* at = header.data() + sizeof kMagic;
  if (const auto number = wire::get<uint32_t>(at); number != kVersion)
    throw Error(message(begin_, "it has version ", number, ", this is version ", kVersion,
                        "; compile the model again"));
  const auto padding = wire::get<uint32_t>(at);
  const auto size = wire::get<uint64_t>(at);
  if (size > source_.left()) throw Error(begin_ + "it was cut; copy it again");
  bytes_.resize(size);
  head.id = wire::get<uint64_t>(at);
  if (!source_.read(bytes_.data(), size) || padding != 0 || checksum64(bytes_.data(), size) != head.id)
    throw Error(begin_ + "it is damaged or was cut; copy it again");
  end_ = source_.position();
  tables_ = std::make_unique<wire::TableReader>(bytes_.data(), size, begin_);
  describe(*tables_, head);
  check(head, *tables_);
}

std::vector<float> ClientTables::next_floats(size_t wanted, const std::string& what, bool taken) {
  uint64_t count = 0, checksum = 0;
  tables_->number(count), tables_->number(checksum);
  if (count != wanted)
    tables_->refuse(
        message("its ", what, " has ", count, " numbers of ", wanted, "; compile the model again"));
  if (wanted == 0) return {};
  const uint64_t place = aligned(end_);
  if (place > source_.size() || (source_.size() - place) / sizeof(float) < wanted)
    tables_->refuse("it was cut; copy it again");
  const size_t bytes = wanted * sizeof(float);
  end_ = place + bytes;
  if (!taken) return {};
  std::vector<float> values(wanted);
  source_.seek(place);
  if (!source_.read(values.data(), bytes) || checksum64(values.data(), bytes) != checksum)
    tables_->refuse(message("its ", what, " is damaged; copy it again"));
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
    tables_->refuse(message("its ", what, " is not finite; compile the model again"));
  return values;
}

void ClientTables::require_end() const {
  if (!tables_->at_end() || source_.size() != end_)
    tables_->refuse("there is more in it than it says; compile the model again");
}

ClientHead read_client_head(const std::string& path) {
  ClientHead head;
  ClientTables(path, head);
  return head;
}

void write_client_head(ClientHead& head, wire::TableWriter& tables) { describe(tables, head); }

void save_client_tables(const std::string& path, ClientHead& head, wire::TableWriter& tables,
                        std::span<const std::span<const float>> lists) {
  for (const std::span<const float> list : lists) {
    tables.number(uint64_t{list.size()});
    tables.number(list.empty() ? uint64_t{0} : checksum64(list.data(), list.size_bytes()));
  }
  const std::vector<uint8_t>& bytes = tables.bytes();
  head.id = checksum64(bytes.data(), bytes.size());
  std::vector<uint8_t> header(kMagic, kMagic + sizeof kMagic);
  wire::put(header, kVersion), wire::put(header, uint32_t{0});
  wire::put(header, uint64_t{bytes.size()}), wire::put(header, head.id);
  AtomicFile out(path);
  out.write(header.data(), header.size());
  out.write(bytes.data(), bytes.size());
  for (const std::span<const float> list : lists) {
    if (list.empty()) continue;
    out.write(std::string(aligned(out.size()) - out.size(), '\0'));
    out.write(list.data(), list.size_bytes());
  }
  out.commit();
}

}  // namespace psm::cmd
