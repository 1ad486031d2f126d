// The head of a client's file (client_file.h): everything for making keys, and nothing of the model.
//
// It may come from a server that nobody trusts. Reading accepts only parameters that Context accepts (the security
// table), levels of their chain, and at most kMostKeys keys. A false file costs its reader a wrong answer, but no
// secret: the client only sends encryptions under its key, and evaluation keys of this key pair.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckks/base/files/byte_source.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "ckks/wire/tables.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct ClientEntry {
  std::string name;  // of the program's entry point
  std::vector<PlanEnd> inputs, outputs;
  double overflow = 0;  // bound on the probability that a bootstrap of one run overflows
};

struct ClientHead {
  static constexpr size_t kMostKeys = 4096;

  std::array<uint8_t, 32> program{};  // its digest
  ckks::ParameterSpec spec;
  ckks::KeyRequest keys;
  std::vector<ClientEntry> entries;
  uint64_t id = 0;                               // of all that the file holds; made by writing and by reading
  std::shared_ptr<const ckks::Context> context;  // of the parameters; made by reading

  uint64_t program_id() const;
  // Throws Error if the program has no entry point of this name.
  PlanEnds ends(const std::string& entry) const;
};

// Throws Error if the file is damaged, of another version, or asks for something it may not.
ClientHead read_client_head(const std::string& path);

// A client's file while it is read: its tables' checksum is right, and its head was read.
class ClientTables {
 public:
  ClientTables(const std::string& path, ClientHead& head);
  wire::TableReader& rest() { return *tables_; }  // behind the head

  // The next list of floats after the tables, or nothing if it is not `taken`. Throws Error unless it has `wanted`
  // numbers and fits the file, and if it is taken and damaged.
  std::vector<float> next_floats(size_t wanted, const std::string& what, bool taken = true);
  void require_end() const;  // of the tables, and of the file behind the lists

 private:
  std::string begin_;  // of refusals
  ByteSource source_;
  std::vector<uint8_t> bytes_;
  std::unique_ptr<wire::TableReader> tables_;
  uint64_t end_ = 0;  // of what the lists so far take
};

// Writes head, rest and lists as a client's file; sets the head's id. The rest ends with the lists' sizes.
void write_client_head(ClientHead& head, wire::TableWriter& tables);
void save_client_tables(const std::string& path, ClientHead& head, wire::TableWriter& tables,
                        std::span<const std::span<const float>> lists);

}  // namespace psm::cmd
