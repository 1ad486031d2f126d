#include "ckks/program/file/constants.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"

namespace psm::program {
namespace {

constexpr uint8_t kReal = 1, kDoubles = 2;

// The members of the table, in the order of FORMATS.md.
template <typename Tables>
void describe_table(Tables& tables, std::vector<Sha256::Digest>& pages, std::vector<Constant>& constants,
                    std::vector<ConstantRun>& runs) {
  wire::list(tables, pages, sizeof(Sha256::Digest), [&](Sha256::Digest& page) {
    for (uint8_t& byte : page) tables.number(byte);
  });
  ConstantRun run_before;
  wire::list(tables, runs, 3, [&](ConstantRun& run) {
    wire::difference(tables, run.place, run_before.place);
    wire::difference(tables, run.first, run_before.first);
    wire::difference(tables, run.count, run_before.count);
  });
  Constant before;
  wire::list(tables, constants, 7, [&](Constant& c) {
    wire::difference(tables, c.runs, before.runs);
    tables.number(c.log2_period);
    auto kind = static_cast<uint8_t>((c.real ? kReal : 0) | (c.wide ? kDoubles : 0));
    tables.number(kind);
    if constexpr (Tables::kReads) {
      if (kind > (kReal | kDoubles)) tables.refuse("it has a constant of an unknown kind; compile it again");
      c.real = (kind & kReal) != 0, c.wide = (kind & kDoubles) != 0;
    }
    tables.number(c.mean_square);
  });
}

bool fits_float(double value) {
  const double size = std::abs(value);
  return size == 0 || (size >= 0x1p-126 && size <= 0x1p127);
}

void put_entry(std::vector<uint8_t>& bytes, double value, bool wide) {
  if (wide)
    wire::put(bytes, value);
  else
    wire::put(bytes, static_cast<float>(value));
}

double get_entry(const uint8_t*& bytes, bool wide) {
  return wide ? wire::get<double>(bytes) : static_cast<double>(wire::get<float>(bytes));
}

}  // namespace

ckks::Plain ConstantTable::plain(uint32_t index) const {
  const Constant& constant = constants_[index];
  return ckks::Plain(shared_from_this(), index, constant.period(), constant.real);
}

uint32_t ConstantTable::index_of(const ckks::Plain& plain) const {
  const auto [store, index] = plain.identity();
  if (store != static_cast<const ckks::PlainStore*>(this))
    throw Error(
        "a program's vector is not among the constants of its file; build the program with their writer");
  return index;
}

uint64_t ConstantTable::bytes(uint32_t index) const {
  const Constant& constant = constants_[index];
  uint64_t slots = 0;
  for (uint32_t r = 0; r < constant.runs; ++r) slots += runs_[constant.first_run + r].count;
  return slots * constant.entry_bytes();
}

void ConstantTable::read(uint32_t index, std::span<ckks::Complex> one_period) const {
  const Constant& constant = constants_[index];
  uint8_t scratch[16 * kRunSlots];
  std::fill(one_period.begin(), one_period.end(), ckks::Complex(0));
  for (uint32_t r = 0; r < constant.runs; ++r) {
    const ConstantRun& run = runs_[constant.first_run + r];
    const uint8_t* bytes = bytes_of(run, run.count * constant.entry_bytes(), scratch);
    for (uint32_t i = 0; i < run.count; ++i) {
      const double re = get_entry(bytes, constant.wide);
      const double im = constant.real ? 0 : get_entry(bytes, constant.wide);
      one_period[run.first + i] = {re, im};
    }
  }
}

ckks::Plain ConstantWriter::keep(const ckks::Plain& plain) {
  if (plain.identity().first == static_cast<const ckks::PlainStore*>(this)) return plain;
  return this->plain(index_of_values(plain.values()));
}

uint32_t ConstantWriter::index_of_values(std::span<const ckks::Complex> values) {
  Constant constant{.log2_period = static_cast<uint8_t>(std::countr_zero(values.size()))};
  constant.wide = values.size() <= kWide;
  for (const ckks::Complex& value : values) {
    constant.real = constant.real && value.imag() == 0;
    constant.wide = constant.wide || !fits_float(value.real()) || !fits_float(value.imag());
  }
  constant.first_run = static_cast<uint32_t>(runs_.size());
  std::vector<uint8_t> bytes, entry;
  double squares = 0;
  for (size_t first = 0; first < values.size();) {
    if (values[first] == 0.0) {
      ++first;
      continue;
    }
    const size_t most = std::min(values.size(), (first / kRunSlots + 1) * kRunSlots);
    size_t last = first;
    while (last < most && values[last] != 0.0) ++last;
    bytes.clear();
    for (size_t i = first; i < last; ++i) {
      put_entry(bytes, values[i].real(), constant.wide);
      if (!constant.real) put_entry(bytes, values[i].imag(), constant.wide);
    }
    for (size_t i = first; i < last; ++i) squares += std::norm(values[i]);
    const ConstantRun run = run_of(bytes, first, last - first);
    wire::put(entry, run.place), wire::put(entry, run.first), wire::put(entry, run.count);
    runs_.push_back(run);
    first = last;
  }
  constant.mean_square = static_cast<float>(
      std::min<double>(squares / static_cast<double>(values.size()), std::numeric_limits<float>::max()));
  constant.runs = static_cast<uint32_t>(runs_.size()) - constant.first_run;
  wire::put(entry, constant.log2_period), wire::put(entry, constant.real), wire::put(entry, constant.wide);

  const uint64_t key = checksum64(entry.data(), entry.size());
  const auto [begin, end] = known_.equal_range(key);
  for (auto known = begin; known != end; ++known) {
    const Constant& other = constants_[known->second];
    if (other.log2_period != constant.log2_period || other.real != constant.real ||
        other.wide != constant.wide || other.runs != constant.runs ||
        !std::equal(runs_.begin() + other.first_run, runs_.begin() + other.first_run + other.runs,
                    runs_.begin() + constant.first_run))
      continue;
    runs_.resize(constant.first_run);
    return known->second;
  }
  const auto index = static_cast<uint32_t>(constants_.size());
  known_.emplace(key, index);
  constants_.push_back(constant);
  return index;
}

ConstantRun ConstantWriter::run_of(const std::vector<uint8_t>& bytes, size_t first, size_t count) {
  ConstantRun run{bytes_, static_cast<uint32_t>(first), static_cast<uint32_t>(count)};
  const uint64_t key = checksum64(bytes.data(), bytes.size());
  const auto [begin, end] = places_.equal_range(key);
  std::vector<uint8_t> other(bytes.size());
  for (auto place = begin; place != end; ++place) {
    if (place->second.second != bytes.size()) continue;
    file_->read_back(begin_ + place->second.first, other.data(), other.size());
    if (other != bytes) continue;
    run.place = place->second.first;
    return run;
  }
  places_.emplace(key, std::pair(bytes_, static_cast<uint32_t>(bytes.size())));
  append(bytes.data(), bytes.size());
  return run;
}

void ConstantWriter::append(const uint8_t* bytes, size_t size) {
  file_->write(bytes, size);
  while (size > 0) {
    const size_t part = std::min(size, kPageBytes - bytes_ % kPageBytes);
    page_.update(bytes, part);
    bytes += part, size -= part, bytes_ += part;
    if (bytes_ % kPageBytes == 0) pages_.push_back(std::exchange(page_, {}).digest());
  }
}

const uint8_t* ConstantWriter::bytes_of(const ConstantRun& run, size_t bytes, uint8_t* scratch) const {
  PSM_CHECK(file_ != nullptr);
  file_->read_back(begin_ + run.place, scratch, bytes);
  return scratch;
}

void ConstantWriter::write(wire::TableWriter& tables) {
  places_ = {}, known_ = {};
  if (bytes_ % kPageBytes != 0) pages_.push_back(page_.digest());
  describe_table(tables, pages_, constants_, runs_);
  file_ = nullptr;
}

MappedFile::MappedFile(const std::string& path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe would wait
  struct stat status;
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    const std::string why = descriptor_ < 0 ? std::strerror(errno) : "it is no regular file";
    if (descriptor_ >= 0) close(descriptor_);
    throw Error(message("cannot read ", path, ": ", why));
  }
  size_ = static_cast<uint64_t>(status.st_size);
  written_ = status.st_mtim;
  void* const mapped = size_ == 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    const std::string why = size_ == 0 ? "it is empty" : std::strerror(errno);
    close(descriptor_);
    throw Error(message("cannot map ", path, ": ", why));
  }
  data_ = static_cast<const uint8_t*>(mapped);
}

MappedFile::~MappedFile() {
  munmap(const_cast<uint8_t*>(data_), size_);
  close(descriptor_);
}

void MappedFile::require_unchanged(const std::string& name) const {
  struct stat now;
  if (fstat(descriptor_, &now) != 0 || static_cast<uint64_t>(now.st_size) != size_ ||
      now.st_mtim.tv_sec != written_.tv_sec || now.st_mtim.tv_nsec != written_.tv_nsec)
    throw Error(message(
        name, "the file was changed while it was in use; start again with a file that nobody writes to"));
}

void MappedFile::give_back() const { madvise(const_cast<uint8_t*>(data_), size_, MADV_DONTNEED); }

MappedConstants::MappedConstants(std::shared_ptr<const MappedFile> file, uint64_t begin, uint64_t bytes,
                                 wire::TableReader& table, std::string name)
    : file_(std::move(file)), begin_(begin), bytes_(bytes), name_(std::move(name)) {
  describe_table(table, pages_, constants_, runs_);
  if (pages_.size() != (bytes + kPageBytes - 1) / kPageBytes)
    table.refuse("it has checksums of more or fewer pages; compile it again");
  uint32_t used = 0;  // runs of the constants before
  for (Constant& constant : constants_) {
    const auto refuse = [&](const char* why) {
      table.refuse(message("constant ", &constant - constants_.data(), " ", why, "; compile it again"));
    };
    if (constant.log2_period > kMostLog2Period) refuse("has too long a period");
    if (constant.runs > runs_.size() - used) refuse("has more runs than there are");
    constant.first_run = std::exchange(used, used + constant.runs);
    uint64_t next = 0;  // the first slot that is free
    for (uint32_t r = 0; r < constant.runs; ++r) {
      const ConstantRun& run = runs_[constant.first_run + r];
      if (run.count == 0 || run.count > kRunSlots || run.first < next ||
          run.first + uint64_t{run.count} > constant.period())
        refuse("has a run outside its period");
      next = run.first + uint64_t{run.count};
      if (run.place > bytes || run.count * constant.entry_bytes() > bytes - run.place)
        refuse("has a run outside the section of constants");
    }
    if (!(constant.mean_square >= 0 && std::isfinite(constant.mean_square)))
      refuse("has a mean square that is none");
  }
  if (used != runs_.size()) table.refuse("it has runs of no constant; compile it again");
  checked_ = std::make_unique<std::atomic<bool>[]>(pages_.size());
}

void MappedConstants::read(uint32_t index, std::span<ckks::Complex> one_period) const {
  file_->require_unchanged(name_);
  ConstantTable::read(index, one_period);
  file_->require_unchanged(name_);
  for (const ckks::Complex& value : one_period)
    if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
      throw Error(message(name_, "constant ", index, " has a value that is not finite; compile it again"));
  // A pass reads each weight once, so pages that were read would only take memory from ciphertexts.
  const uint64_t size = bytes(index), before = read_bytes_.fetch_add(size, std::memory_order_relaxed);
  if (before / kMostMapped != (before + size) / kMostMapped) file_->give_back();
}

const uint8_t* MappedConstants::bytes_of(const ConstantRun& run, size_t size, uint8_t*) const {
  for (size_t page = run.place / kPageBytes; page * kPageBytes < run.place + size; ++page) check(page);
  return file_->data() + begin_ + run.place;
}

void MappedConstants::check(size_t page) const {
  if (checked_[page].load(std::memory_order_relaxed)) return;
  const uint64_t first = page * kPageBytes;
  if (sha256(file_->data() + begin_ + first, std::min<uint64_t>(kPageBytes, bytes_ - first)) != pages_[page])
    throw Error(message(name_, "its constants are damaged (the checksum from byte ", begin_ + first,
                        " on differs); copy the file again"));
  checked_[page].store(true, std::memory_order_relaxed);
}

}  // namespace psm::program
