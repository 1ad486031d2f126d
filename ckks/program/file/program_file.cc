#include "ckks/program/file/program_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"
#include "ckks/base/random/sha256.h"
#include "ckks/wire/scheme_tables.h"

namespace psm::program {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'M', 'P', 'R', 'O', 'G', '\n'};
constexpr uint32_t kVersion = 4;  // raised whenever a file that exists would be read as something else
constexpr size_t kHeaderBytes = 128, kDigestAt = 64;
constexpr uint64_t kConstantsAt = 4096;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr const char* kNoPart = "a transform or a series that is not there";

struct Header {
  uint64_t constants_bytes = 0, tables_bytes = 0;
  ProgramDigest digest{};

  // Reads the header of a file of at least kConstantsAt bytes.
  static Header of(const uint8_t* file) {
    Header header;
    const uint8_t* at = file + 24;
    header.constants_bytes = wire::get<uint64_t>(at);
    at = file + 40;
    header.tables_bytes = wire::get<uint64_t>(at);
    std::memcpy(header.digest.data(), file + kDigestAt, header.digest.size());
    return header;
  }
  uint64_t tables_at() const { return kConstantsAt + constants_bytes; }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(kMagic, kMagic + sizeof kMagic);
    wire::put(out, kVersion), wire::put(out, uint32_t{0});
    wire::put(out, kConstantsAt), wire::put(out, constants_bytes);
    wire::put(out, tables_at()), wire::put(out, tables_bytes);
    out.resize(kDigestAt);
    out.insert(out.end(), digest.begin(), digest.end());
    out.resize(kHeaderBytes);
    return out;
  }
};

// Covers the header without its digest; the tables follow.
Sha256 begin_digest(Header header) {
  header.digest = {};
  const std::vector<uint8_t> head = header.bytes();
  Sha256 sum;
  sum.update(head.data(), head.size());
  return sum;
}

ProgramDigest digest_of(const Header& header, const uint8_t* tables, size_t bytes) {
  Sha256 sum = begin_digest(header);
  sum.update(tables, bytes);
  return sum.digest();
}

// What several instructions share stands once.
template <typename Item>
struct Shared {
  std::vector<Item> items;
  std::map<Item, uint32_t> places;
  uint32_t place(const Item& item) {
    const auto [found, is_new] = places.try_emplace(item, static_cast<uint32_t>(items.size()));
    if (is_new) items.push_back(item);
    return found->second;
  }
};

// Everything that the tables refer to by number.
struct Parts {
  const ConstantTable* constants = nullptr;
  Shared<std::string> labels;
  Shared<std::shared_ptr<const ckks::LinearTransform>> maps;
  Shared<std::shared_ptr<const ckks::Series>> series;
};

// What stands in the tables, described once for reading and writing: a writer turns a member into its number before
// it is put, a reader turns the number into the member after it was taken.
template <typename Tables>
class Description {
 public:
  static constexpr bool kReads = Tables::kReads;
  Description(Tables& tables, Parts& parts) : t_(tables), parts_(parts) {}

  void labels() {
    wire::list(t_, parts_.labels.items, 4, [&](std::string& label) { text(label); });
  }

  void maps() {
    shared(parts_.maps.items, 9, [&](ckks::LinearTransform& map) {
      t_.number(map.outputs);
      flag(map.divides_sources);
      ckks::TransformTerm before;
      uint32_t weight_before = 0;
      wire::list(t_, map.terms, 6, [&](ckks::TransformTerm& term) {
        wire::difference(t_, term.output, before.output), wire::difference(t_, term.giant, before.giant);
        wire::difference(t_, term.input, before.input), wire::difference(t_, term.baby, before.baby);
        uint32_t weight = place_of(term.weight);
        wire::difference(t_, weight, weight_before);
        if constexpr (kReads) term.weight = plain_at(weight);
        flag(term.conjugate);
      });
    });
  }

  void series() {
    shared(parts_.series.items, 4, [&](ckks::Series& series) {
      wire::list(t_, series.coefficients, 8, [&](double& c) { t_.number(c); });
    });
  }

  void entries(std::vector<EntryPoint>& entries, size_t slots) {
    wire::list(t_, entries, 45, [&](EntryPoint& e) { entry(e, slots); });
  }

 private:
  void entry(EntryPoint& e, size_t slots) {
    text(e.name);
    program(e.plan, slots);
    wire::describe(t_, e.keys);
    text(e.argument);
    t_.number(e.first);
    std::vector<uint32_t> places;  // of instructions, by first result
    if constexpr (!kReads) {
      places.resize(e.plan.program.values.size(), kNone);
      for (const Instruction& i : e.plan.program.instructions)
        places[static_cast<size_t>(i.results[0].id)] =
            static_cast<uint32_t>(&i - e.plan.program.instructions.data());
    }
    wire::list(t_, e.by_argument, 4, [&](Constants& constants) {
      wire::list(t_, constants, 12, [&](Exchange& one) { exchange(one, e.plan.program, places); });
    });
  }
  void text(std::string& value) { wire::name(t_, value); }
  void flag(bool& value) { wire::flag(t_, value); }
  void level(ckks::Level& level) { wire::describe(t_, level); }
  void value(Value& v) { t_.number(v.id); }

  uint32_t place_of(const ckks::Plain& plain) const {
    return plain.period() == 0 ? kNone : parts_.constants->index_of(plain);
  }
  ckks::Plain plain_at(uint32_t place) const {
    if (place == kNone) return {};
    if (place >= parts_.constants->size()) refuse("a constant that is not there");
    return parts_.constants->plain(place);
  }
  void plain(ckks::Plain& plain) {
    uint32_t place = place_of(plain);
    t_.number(place);
    if constexpr (kReads) plain = plain_at(place);
  }

  template <typename T, typename Each>
  void shared(std::vector<std::shared_ptr<const T>>& items, size_t least_bytes, const Each& each) {
    wire::list(t_, items, least_bytes, [&](std::shared_ptr<const T>& item) {
      T own = kReads ? T{} : *item;
      each(own);
      if constexpr (kReads) item = std::make_shared<const T>(std::move(own));
    });
  }

  template <typename Item>
  void reference(Item& item, Shared<Item>& all, const char* what) {
    uint32_t place = kNone;
    if constexpr (!kReads) place = all.place(item);
    t_.number(place);
    if constexpr (kReads) {
      if (place >= all.items.size()) refuse(what);
      item = all.items[place];
    }
  }

  void instruction(Instruction& i) {
    auto opcode = static_cast<uint8_t>(i.opcode);
    t_.number(opcode);
    if (opcode >= kOpcodeCount) refuse("an instruction that this version does not know");
    i.opcode = static_cast<Opcode>(opcode);
    reference(i.label, parts_.labels, "a label that is not there");
    wire::list(t_, i.arguments, 4, [&](Value& v) { value(v); });
    wire::list(t_, i.results, 4, [&](Value& v) { value(v); });
    switch (i.opcode) {
      case Opcode::kAddPlain:
      case Opcode::kMultiplyPlain:
        return plain(i.plain);
      case Opcode::kRotate:
      case Opcode::kSumOfRotations:
        return wire::list(t_, i.offsets, 4, [&](int& offset) { t_.number(offset); });
      case Opcode::kLinear:
        return reference(i.linear, parts_.maps, kNoPart);
      case Opcode::kSeries:
        return reference(i.series, parts_.series, kNoPart);
      case Opcode::kBootstrap:
        return t_.number(i.bootstrap.period), t_.number(i.bootstrap.block);
      default:  // arguments and results alone
        return;
    }
  }

  void program(Plan& plan, size_t slots) {
    Program& p = plan.program;
    p.slots = slots;
    const uint32_t values = t_.count(p.values.size(), 21);
    p.values.resize(values), plan.level.resize(values);
    for (uint32_t v = 0; v < values; ++v) {
      flag(p.values[v].is_real), t_.number(p.values[v].period), t_.number(p.values[v].block);
      level(plan.level[v]);
    }
    wire::list(t_, p.instructions, 13, [&](Instruction& i) { instruction(i); });
    plan.argument_level.resize(p.instructions.size());
    for (ckks::Level& argument : plan.argument_level) level(argument);
    for (std::vector<NamedValue>* named : {&p.inputs, &p.outputs})
      wire::list(t_, *named, 8, [&](NamedValue& n) { text(n.name), value(n.value); });
    wire::list(t_, p.checks, 28, [&](RangeCheck& check) {
      value(check.value), t_.number(check.lo), t_.number(check.hi), text(check.what);
      plain(check.where);
    });
  }

  // An instruction as a value of the argument has it: which one, and what differs. `places` is for writing.
  void exchange(Exchange& one, const Program& program, const std::vector<uint32_t>& places) {
    uint32_t place = kNone;
    if constexpr (!kReads) place = places.at(static_cast<size_t>(one.result.id));
    t_.number(place);
    plain(one.plain);
    wire::list(t_, one.offsets, 4, [&](int& offset) { t_.number(offset); });
    if constexpr (kReads) {
      if (place >= program.instructions.size() || program.instructions[place].results.empty())
        refuse("a constant that fits no instruction");
      one.result = program.instructions[place].results[0];
    }
  }

  [[noreturn]] void refuse(const char* what) const {
    t_.refuse(message("it has ", what, kReads ? "; compile it again" : ""));
  }

  Tables& t_;
  Parts& parts_;
};

}  // namespace

const Constants& EntryPoint::constants(int value) const {
  static const Constants none;
  if (argument.empty()) return none;
  if (value < first || value - first >= static_cast<int>(by_argument.size()))
    throw Error(message(name, " has no ", argument, " ", value, "; there are ", first, " to ",
                        first + static_cast<int>(by_argument.size()) - 1));
  return by_argument[static_cast<size_t>(value - first)];
}

const EntryPoint& ProgramFile::entry(const std::string& name) const {
  const auto found = std::ranges::find(entries, name, &EntryPoint::name);
  if (found != entries.end()) return *found;
  throw Error(message("the program has no entry point '", name, "'; it has ",
                      joined(entries, ", ", &EntryPoint::name)));
}

uint64_t ProgramFile::id() const {
  const uint8_t* at = digest.data();
  return wire::get<uint64_t>(at);
}

ProgramWriter::ProgramWriter(const std::string& path) : file_(path) {
  const std::vector<uint8_t> room(kConstantsAt);
  file_.write(room.data(), room.size());
  constants_ = std::make_shared<ConstantWriter>(file_);
}

ProgramDigest ProgramWriter::finish(ProgramFile& program) {
  for (EntryPoint& entry : program.entries)
    for (Constants& constants : entry.by_argument)
      for (Exchange& one : constants)
        if (one.plain.period() != 0) one.plain = constants_->keep(one.plain);
  Parts parts;
  parts.constants = constants_.get();
  // What the entry points refer to is known when they are written, and stands before them.
  wire::TableWriter entries;
  Description<wire::TableWriter> inner(entries, parts);
  const size_t slots = size_t{1} << (program.spec.log_n - 1);
  inner.entries(program.entries, slots);

  // The tables of billions of weights are long: no copy of them is in memory.
  const auto append = [&](const std::vector<uint8_t>& bytes) { file_.write(bytes.data(), bytes.size()); };
  wire::TableWriter tables(append);
  Description<wire::TableWriter> outer(tables, parts);
  wire::describe(tables, program.spec);
  tables.text(program.about.dump(0));
  constants_->write(tables);
  outer.labels(), outer.maps(), outer.series();
  tables.flush();
  append(entries.bytes());

  Header header{.constants_bytes = constants_->section_bytes()};
  header.tables_bytes = file_.size() - header.tables_at();
  Sha256 sum = begin_digest(header);
  std::vector<uint8_t> piece(size_t{1} << 20);
  for (uint64_t at = header.tables_at(); at < file_.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), file_.size() - at));
    file_.read_back(at, piece.data(), piece.size());
    sum.update(piece.data(), piece.size());
  }
  header.digest = sum.digest();
  const std::vector<uint8_t> head = header.bytes();
  file_.rewrite(0, head.data(), head.size());
  file_.commit();
  program.constants = constants_;
  program.digest = header.digest;
  return header.digest;
}

ProgramFile read_program(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const auto refuse = [&](const auto&... why) { throw Error(message("cannot read ", path, ": ", why...)); };
  if (file->size() < kConstantsAt || std::memcmp(file->data(), kMagic, sizeof kMagic) != 0)
    refuse("it is not a program; make one with bazel run //cmd:compile");
  const uint8_t* at = file->data() + sizeof kMagic;
  if (const auto version = wire::get<uint32_t>(at); version != kVersion)
    refuse("it is a program of version ", version, ", this is version ", kVersion, "; compile it again");
  const Header header = Header::of(file->data());
  if (header.constants_bytes > file->size() || header.tables_bytes > file->size() ||
      header.tables_at() + header.tables_bytes != file->size())
    refuse("it was cut, or has grown; copy it again");
  std::vector<uint8_t> head = header.bytes();
  head.resize(kConstantsAt);
  if (!std::equal(head.begin(), head.end(), file->data())) refuse("its header is damaged; copy it again");
  // A copy: what is read is what the digest was taken of, whoever writes to the file meanwhile.
  const std::vector<uint8_t> bytes(file->data() + header.tables_at(), file->data() + file->size());
  if (digest_of(header, bytes.data(), bytes.size()) != header.digest)
    refuse("it is damaged (its digest differs); copy it again");

  ProgramFile program;
  program.digest = header.digest;
  wire::TableReader tables(bytes.data(), bytes.size(), message("cannot read ", path, ": "));
  Parts parts;
  Description<wire::TableReader> description(tables, parts);
  wire::describe(tables, program.spec);
  if (program.spec.log_n < 2 || program.spec.log_n > kMostLog2Period + 1)
    refuse("its ring has a degree of 2^", program.spec.log_n);
  std::string about;
  tables.text(about);
  // A value takes up to 256 bytes of memory.
  program.about = parse_json(about, path + ", about",
                             {.max_bytes = about.size(), .max_values = (1 << 13) + about.size() / 8});
  program.constants = std::make_shared<const MappedConstants>(file, kConstantsAt, header.constants_bytes,
                                                              tables, message(path, ": "));
  parts.constants = program.constants.get();
  description.labels(), description.maps(), description.series();
  const size_t slots = size_t{1} << (program.spec.log_n - 1);
  description.entries(program.entries, slots);
  if (!tables.at_end()) refuse("there is more in its tables than they say; compile it again");
  return program;
}

void seal_program(std::string& file) {
  auto* const bytes = reinterpret_cast<uint8_t*>(file.data());
  if (file.size() < kConstantsAt) return;
  Header header = Header::of(bytes);
  if (header.constants_bytes > file.size() - kConstantsAt) return;
  header.tables_bytes = file.size() - header.tables_at();
  header.digest = digest_of(header, bytes + header.tables_at(), header.tables_bytes);
  const std::vector<uint8_t> head = header.bytes();
  std::copy(head.begin(), head.end(), bytes);
}

}  // namespace psm::program
