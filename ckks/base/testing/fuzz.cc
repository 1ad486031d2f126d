#include "ckks/base/testing/fuzz.h"

#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/runfile.h"

// libFuzzer and the counters of coverage, which --config=fuzz links.
extern "C" {
[[gnu::weak]] int LLVMFuzzerRunDriver(int*, char***, int (*decode)(const uint8_t*, size_t));
[[gnu::weak]] size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t most);
[[gnu::weak]] void __llvm_profile_reset_counters();
}

// Sanitisers stop with SIGABRT, so that the handler below can say which input it was.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace psm {
namespace {

// One more or less than a power of two, from either end.
uint64_t extreme(TrainingRandom& random) {
  const uint64_t value = (uint64_t{1} << random.integer(64)) + random.integer(3) - 1;
  return random.integer(4) == 0 ? 0 - value : value;
}

// What stands in place of a number.
std::string other_number(TrainingRandom& random) {
  static constexpr char kAll[] =
      "0 1 -1 2 65536 1048576 4294967296 9223372036854775807 -9223372036854775808 18446744073709551616 "
      "1e308 1e999 -0 0.5 1e-400 NaN null true \"\" [] {}";
  std::istringstream words(kAll);
  const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  return all[random.integer(all.size())];
}

constexpr char kBytes[] = {'\0', '\x01', '\x7f', '\x80', '\xff', '"', '\\', '{', '}',
                           '[',  ']',    ',',    ':',    '\n',   ' ', '-',  '0', '9'};

// The input that is decoded now, and where it is kept if it fails.
std::string_view current;
std::string kept;

void keep_input() {
  std::FILE* file = std::fopen(kept.c_str(), "wb");
  if (file == nullptr) return;
  std::fwrite(current.data(), 1, current.size(), file);
  std::fclose(file);
}

// The process ends here in any case; what it was decoding is worth more than a handler that is safe in all of them.
void keep_and_abort(int) {
  std::fprintf(stderr, "the input is in %s\n", kept.c_str());
  keep_input();
  signal(SIGABRT, SIG_DFL);
  abort();
}

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

size_t place(size_t size, const std::vector<size_t>& marks, TrainingRandom& random) {
  if (!marks.empty() && random.integer(2) == 0) return std::min(size, marks[random.integer(marks.size())]);
  return random.integer(size + 1);
}

// A chunk [begin, end): between two marks, or short.
std::pair<size_t, size_t> chunk(size_t size, const std::vector<size_t>& marks, TrainingRandom& random) {
  const size_t a = place(size, marks, random);
  size_t b = random.integer(2) == 0 ? place(size, marks, random) : a + 1 + random.integer(32);
  b = std::min(b, size);
  return {std::min(a, b), std::max(a, b)};
}

void replace_number(std::string& bytes, TrainingRandom& random) {
  const size_t start = random.integer(bytes.size());
  for (size_t k = 0; k < bytes.size(); ++k) {
    const size_t at = (start + k) % bytes.size();
    if (!std::isdigit(static_cast<unsigned char>(bytes[at]))) continue;
    size_t end = at;
    while (end < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[end]))) ++end;
    bytes.replace(at, end - at, other_number(random));
    return;
  }
}

bool is_one_line(const std::string& text) {
  return !text.empty() && std::none_of(text.begin(), text.end(),
                                       [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); });
}

void mutate(std::string& bytes, const std::vector<std::string>& corpus, const std::vector<size_t>& marks,
            TrainingRandom& random) {
  if (bytes.empty()) {
    bytes.push_back(kBytes[random.integer(sizeof kBytes)]);
    return;
  }
  const size_t at = std::min(place(bytes.size(), marks, random), bytes.size() - 1);
  switch (random.integer(12)) {
    case 0:
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.integer(8)));
      break;
    case 2:
      bytes[at] = kBytes[random.integer(sizeof kBytes)];
      break;
    case 3:
      bytes[at] = static_cast<char>(random.integer(256));
      break;
    case 4: {  // a number of one, two, four or eight bytes
      const size_t width = std::min(size_t{1} << random.integer(4), bytes.size() - at);
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, width);
      const uint64_t how = random.integer(4);
      value = how == 0   ? value + 1
              : how == 1 ? value - 1
              : how == 2 ? bytes.size() + random.integer(3) - 1
                         : extreme(random);
      std::memcpy(bytes.data() + at, &value, width);
      break;
    }
    case 5:
      replace_number(bytes, random);
      break;
    case 6: {
      const auto [begin, end] = chunk(bytes.size(), marks, random);
      bytes.erase(begin, end - begin);
      break;
    }
    case 7: {  // repeated, some times
      const auto [begin, end] = chunk(bytes.size(), marks, random);
      const std::string part = bytes.substr(begin, end - begin);
      for (uint64_t times = 1 + random.integer(3); times > 0; --times) bytes.insert(end, part);
      break;
    }
    case 8: {  // moved
      const auto [begin, end] = chunk(bytes.size(), marks, random);
      const std::string part = bytes.substr(begin, end - begin);
      bytes.erase(begin, end - begin);
      bytes.insert(place(bytes.size(), marks, random), part);
      break;
    }
    case 9: {
      const std::string& other = corpus[random.integer(corpus.size())];
      const auto [begin, end] = chunk(other.size(), marks, random);
      bytes.insert(at, other, begin, end - begin);
      break;
    }
    case 10:
      bytes.insert(at, 1 + random.integer(16), kBytes[random.integer(sizeof kBytes)]);
      break;
    default:
      bytes.resize(at);
  }
}

// Decodes one input. Returns what is wrong with the decoder; empty: nothing.
std::string decode_one(const FuzzTarget& target, std::string_view bytes, FuzzReport& report) {
  std::string failure;
  const AllocationMeter meter;
  const std::clock_t start = std::clock();
  try {
    target.decode(bytes);
    ++report.accepted;
  } catch (const Error& error) {
    ++report.refused;
    if (!is_one_line(error.what()))
      failure = message("refused without a message of one line: '", error.what(), "'");
  } catch (const std::exception& error) {
    failure = message("an exception that is no Error: ", error.what());
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const size_t peak = meter.peak_bytes();
  if (peak > target.fixed_bytes + target.bytes_per_byte * bytes.size())
    failure = message(bytes.size(), " bytes took ", peak, " bytes of memory");
  report.peak_bytes = std::max(report.peak_bytes, peak);
  report.slowest_seconds = std::max(report.slowest_seconds, seconds);
  return failure;
}

// What libFuzzer found before, in the order of names.
std::vector<std::string> found_before(std::string target) {
  std::replace(target.begin(), target.end(), ' ', '_');
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(runfile("testdata/fuzz/" + target), none))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

const FuzzTarget* learning = nullptr;  // what libFuzzer decodes

int decode_for_libfuzzer(const uint8_t* bytes, size_t size) {
  FuzzReport report;
  const std::string failure = decode_one(*learning, {reinterpret_cast<const char*>(bytes), size}, report);
  if (failure.empty()) return 0;
  std::fprintf(stderr, "%s: %s\n", learning->name.c_str(), failure.c_str());
  abort();
}

// Puts the valid inputs into the folder "valid-inputs" and runs libFuzzer, to which the command line belongs.
[[noreturn]] void learn(const FuzzTarget& target, size_t longest) {
  PSM_CHECK(LLVMFuzzerRunDriver != nullptr, "PSM_FUZZ_TARGET needs a build with --config=fuzz");
  learning = &target;
  std::filesystem::create_directories(path_of("valid-inputs"));
  for (size_t i = 0; i < target.corpus.size(); ++i)
    write_file(path_of("valid-inputs/" + std::to_string(i)), target.corpus[i]);
  std::ifstream line("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  words.insert(words.begin() + 1, "-max_len=" + std::to_string(longest));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  char** all = arguments.data();
  __llvm_profile_reset_counters();  // what made the valid inputs covers nothing
  std::exit(LLVMFuzzerRunDriver(&count, &all, decode_for_libfuzzer));
}

}  // namespace

std::string in_file(std::string_view bytes, const std::string& name) {
  const std::string path = path_of(name);
  std::filesystem::remove(
      path);  // it may be mapped; and some file systems wait for the disk if it is overwritten
  std::ofstream file(path, std::ios::binary);
  PSM_CHECK(file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())), path);
  return path;
}

FuzzReport fuzz(const FuzzTarget& target, uint64_t inputs) {
  PSM_CHECK(!target.corpus.empty(), target.name);
  const std::string replay = from_environment("PSM_FUZZ_FILE");
  if (!replay.empty()) inputs = 1;
  std::vector<std::vector<size_t>> marks;
  size_t largest = 0;
  for (const std::string& valid : target.corpus) {
    marks.push_back(target.marks ? target.marks(valid) : std::vector<size_t>{});
    largest = std::max(largest, valid.size());
  }
  const size_t longest = 4 * largest + 64;
  if (const std::string only = from_environment("PSM_FUZZ_TARGET"); !only.empty()) {
    if (only != target.name) return {};
    learn(target, longest);
  }
  const std::string outputs = from_environment("TEST_UNDECLARED_OUTPUTS_DIR");
  kept = outputs.empty() ? path_of("fuzz-input") : outputs + "/fuzz-input";
  const auto before = signal(SIGABRT, keep_and_abort);
  FuzzReport report;
  const auto run = [&](const std::string& name, const std::string& bytes) {
    // Memory of its own, so that the address sanitiser sees a read beyond the end.
    const auto exact = std::make_unique<char[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    current = {exact.get(), bytes.size()};
    const std::string failure = decode_one(target, current, report);
    ++report.inputs;
    if (failure.empty()) return;
    keep_input();
    report.failure = message(target.name, ", ", name, ", kept in ", kept, ": ", failure);
  };
  for (const std::string& file : found_before(target.name)) {
    if (!report.failure.empty() || !replay.empty()) break;
    run(file, read_file(file, uint64_t{1} << 24));
  }
  const TrainingRandom streams(1);
  for (uint64_t k = 0; k < inputs && report.failure.empty(); ++k) {
    TrainingRandom random = streams.split(k);
    const size_t which = random.integer(target.corpus.size());
    std::string bytes = target.corpus[which];
    for (uint64_t rounds = 1 + random.integer(1 + random.integer(8)); rounds > 0 && k > 0; --rounds) {
      mutate(bytes, target.corpus, marks[which], random);
    }
    bytes.resize(std::min(bytes.size(), longest));
    if (target.repair && random.integer(4) > 0) target.repair(bytes, random);
    if (!replay.empty()) bytes = read_file(replay, uint64_t{1} << 30);
    run(message("input ", k), bytes);
  }
  signal(SIGABRT, before);
  std::printf(
      "%-24s %8llu inputs, %llu accepted, %llu refused, at most %zu bytes of memory and %.3f s for one\n",
      target.name.c_str(), static_cast<unsigned long long>(report.inputs),
      static_cast<unsigned long long>(report.accepted), static_cast<unsigned long long>(report.refused),
      report.peak_bytes, report.slowest_seconds);
  std::fflush(stdout);
  return report;
}

}  // namespace psm

// How libFuzzer mutates: its own way, or ours; then a repair, as above.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const psm::FuzzTarget& target = *psm::learning;
  psm::TrainingRandom random(seed);
  std::string bytes(data, data + size);
  if (random.integer(2) == 0) {
    bytes.resize(most);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, most));
  } else {
    psm::mutate(bytes, target.corpus, target.marks ? target.marks(bytes) : std::vector<size_t>{}, random);
  }
  bytes.resize(std::min(bytes.size(), most));
  if (target.repair && random.integer(4) > 0) target.repair(bytes, random);
  bytes.resize(std::min(bytes.size(), most));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
