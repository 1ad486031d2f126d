#include "cmd/client/client_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "attention/shape/config_json.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/sha256.h"
#include "ckks/wire/scheme_tables.h"
#include "ckks/wire/tables.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'C', 'L', 'N', 'T', '\n'};
constexpr uint32_t kVersion = 2;
constexpr size_t kHeaderBytes = sizeof kMagic + 4;
constexpr uint64_t kMaxBytes = uint64_t{1} << 36;
constexpr int kMostTokens = 1 << 20;
constexpr int64_t kMostOfImage = int64_t{1} << 30;  // numbers; they are counted in ints

template <typename Tables>
void describe_ends(Tables& t, std::vector<PlanEnd>& ends) {
  wire::list(t, ends, 8, [&](PlanEnd& end) { wire::name(t, end.name), wire::describe(t, end.level); });
}

// All but the magic and the version; `config`, `tokens` and `prompts` say the model and its packing.
template <typename Tables>
void describe(Tables& t, ClientFile& file, std::string& config, int& tokens, int& prompts) {
  for (uint8_t& byte : file.program) t.number(byte);
  wire::describe(t, file.spec);
  wire::describe(t, file.keys);
  wire::list(t, file.entries, 12, [&](ClientEntry& entry) {
    wire::name(t, entry.name), describe_ends(t, entry.inputs), describe_ends(t, entry.outputs);
  });
  t.number(file.logit_error);
  std::vector<std::pair<std::string, std::string>> notes(file.notes.begin(), file.notes.end());
  wire::list(t, notes, 8, [&](auto& note) { wire::name(t, note.first), t.text(note.second); });
  file.notes = {notes.begin(), notes.end()};
  t.text(config);
  wire::integer(t, tokens), wire::integer(t, prompts);
  wire::flag(t, file.model.sends_normalised);
  wire::list(t, file.model.residual_scale, 8, [&](double& scale) { t.number(scale); });
  wire::list(t, file.weights, 8, [&](ClientWeight& weight) {
    wire::name(t, weight.name);
    wire::list(t, weight.period, 8, [&](std::complex<double>& value) {
      auto re = static_cast<float>(value.real()), im = static_cast<float>(value.imag());
      t.number(re), t.number(im);
      value = {re, im};
    });
  });
}

uint64_t id_of(const Sha256::Digest& digest) {
  const uint8_t* at = digest.data();
  return wire::get<uint64_t>(at);
}

template <typename Tables>
void describe_lists(Tables& t, attention::ClientModel& model) {
  attention::ClientModel::for_each_list(
      model, [&](const char* name, std::vector<float>& values, size_t wanted) {
        wire::list(t, values, 4, [&](float& value) { t.number(value); });
        if constexpr (Tables::kReads) {
          if (values.size() != wanted)
            t.refuse(message("its ", name, " has ", values.size(), " numbers of ", wanted,
                             "; compile the model again"));
          if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
            t.refuse(message("its ", name, " is not finite; compile the model again"));
        }
      });
}

}  // namespace

uint64_t ClientFile::program_id() const {
  const uint8_t* at = program.data();
  return wire::get<uint64_t>(at);
}

PlanEnds ClientFile::ends(const std::string& name) const {
  for (const ClientEntry& entry : entries)
    if (entry.name == name) return {program_id(), context->fingerprint(), entry.inputs, entry.outputs};
  throw Error(message("this program has no entry point '", name, "'; compile the model for it"));
}

std::string ClientFile::request_text() const {
  const ckks::Chain& chain = context->chain();
  return message(keys.count(chain), " evaluation keys (", bytes_text(static_cast<double>(keys.bytes(chain))),
                 " in the server's memory)");
}

void write_client_file(const std::string& path, ClientFile& own) {
  std::string config = attention::config_to_json(own.model.config);
  int tokens = own.model.packing.tokens, prompts = own.model.packing.prompts;
  if (own.model.packing.length > 0) tokens = own.model.packing.length;
  wire::TableWriter tables;
  describe(tables, own, config, tokens, prompts);
  describe_lists(tables, own.model);
  std::vector<uint8_t> head(kMagic, kMagic + sizeof kMagic);
  wire::put(head, kVersion);
  const Sha256::Digest digest = sha256(tables.bytes().data(), tables.bytes().size());
  own.id = id_of(digest);
  AtomicFile out(path);
  out.write(head.data(), head.size());
  out.write(tables.bytes().data(), tables.bytes().size());
  out.write(digest.data(), digest.size());
  out.commit();
}

ClientFile read_client_file(const std::string& path) {
  const std::string bytes = read_file(path, kMaxBytes);
  const std::string begin = message("cannot read ", path, ": ");
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  Sha256::Digest digest;
  if (bytes.size() < kHeaderBytes || std::memcmp(at, kMagic, sizeof kMagic) != 0)
    throw Error(begin + "it is no client file; take the NAME.client of bazel run //cmd:compile");
  const uint8_t* version = at + sizeof kMagic;
  if (const auto number = wire::get<uint32_t>(version); number != kVersion)
    throw Error(message(begin, "it has version ", number, ", this is version ", kVersion,
                        "; compile the model again"));
  if (bytes.size() < kHeaderBytes + digest.size()) throw Error(begin + "it was cut; copy it again");
  const size_t size = bytes.size() - kHeaderBytes - digest.size();
  std::memcpy(digest.data(), at + kHeaderBytes + size, digest.size());
  if (sha256(at + kHeaderBytes, size) != digest)
    throw Error(begin + "it is damaged or was cut; copy it again");

  wire::TableReader tables(at + kHeaderBytes, size, begin);
  ClientFile file;
  file.id = id_of(digest);
  std::string config;
  int tokens = 0, prompts = 0;
  describe(tables, file, config, tokens, prompts);
  const auto take = [&](const char* what, const auto& part) {
    try {
      part();
    } catch (const Error& error) {
      tables.refuse(message(what, error.what()));
    }
  };
  take("its parameters are refused: ",
       [&] { file.context = std::make_shared<const ckks::Context>(file.spec); });
  const ckks::Chain& chain = file.context->chain();
  const auto require_level = [&](ckks::Level level) {
    if (level < 0 || level > chain.max_level)
      tables.refuse(message("level ", int{level}, " of ", int{chain.max_level}, "; compile the model again"));
  };
  for (const ckks::Level level : file.keys.relinearisation_levels) require_level(level);
  const uint64_t order = uint64_t{2} << chain.log_n;
  for (const auto& [element, levels] : file.keys.galois_levels) {
    if (element % 2 == 0 || element >= order) tables.refuse("it asks for a key of no automorphism");
    for (const ckks::Level level : levels) require_level(level);
  }
  if (const size_t count = file.keys.count(chain); count > ClientFile::kMostKeys)
    tables.refuse(message("it asks for ", count, " keys; at most ", ClientFile::kMostKeys));
  if (file.keys.encapsulation && !file.context->can_bootstrap())
    tables.refuse("it asks for a bootstrap's keys, and its parameters have none");
  for (const ClientEntry& entry : file.entries)
    for (const std::vector<PlanEnd>* ends : {&entry.inputs, &entry.outputs}) {
      if (ends->empty() || ends->size() > kMaxCiphertexts)
        tables.refuse(message("entry point ", entry.name, " takes or makes ", ends->size(),
                              " ciphertexts; 1 to ", kMaxCiphertexts, " are possible"));
      for (const PlanEnd& end : *ends) require_level(end.level);
    }
  for (const ClientWeight& weight : file.weights) {
    if (!std::has_single_bit(weight.period.size()) ||
        weight.period.size() > static_cast<size_t>(file.context->slots()))
      tables.refuse(message("the weight ", weight.name, " is no period of slots"));
    for (const std::complex<double>& value : weight.period)
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
        tables.refuse(message("the weight ", weight.name, " is not finite"));
  }
  if (!std::isfinite(file.logit_error) || file.logit_error < 0)
    tables.refuse("the predicted error of a logit is no size");
  if (tokens < 1 || tokens > kMostTokens || prompts < 1 || prompts > kMostTokens)
    tables.refuse("it has no places for prompts");
  take("its model is refused: ", [&] {
    file.model.config = attention::config_from_json(config, "the configuration");
    file.model.packing = attention::make_packing(file.model.config, tokens,
                                                 static_cast<size_t>(file.context->slots()), prompts);
  });
  const attention::ModelConfig& shape = file.model.config;
  if (int64_t{shape.context} * shape.patch_inputs > kMostOfImage) tables.refuse("its images are too large");
  if (file.model.residual_scale.size() != static_cast<size_t>(shape.width))
    tables.refuse("its residual ranges are not those of its model");
  for (const double scale : file.model.residual_scale)
    if (!std::isfinite(scale) || scale <= 0) tables.refuse("a residual range is not positive");
  describe_lists(tables, file.model);
  if (!tables.at_end()) tables.refuse("there is more in it than it says; compile the model again");
  return file;
}

}  // namespace psm::cmd
