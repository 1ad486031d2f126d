#include "ckks/base/testing/fuzz.h"

#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/allocation_meter.h"

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

template <typename T, size_t n>
const T& pick(const T (&items)[n], TrainingRandom& random) {
  return items[random.integer(n)];
}

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const std::string text = from_environment(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

std::string folder_for_failures() {
  for (const char* name : {"TEST_UNDECLARED_OUTPUTS_DIR", "TEST_TMPDIR"}) {
    if (const std::string folder = from_environment(name); !folder.empty()) return folder;
  }
  return "/tmp";
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

}  // namespace

void mutate(std::string& bytes, const std::vector<std::string>& corpus, const std::vector<size_t>& marks,
            TrainingRandom& random) {
  if (bytes.empty()) {
    bytes.push_back(pick(kBytes, random));
    return;
  }
  const size_t at = std::min(place(bytes.size(), marks, random), bytes.size() - 1);
  switch (random.integer(12)) {
    case 0:
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.integer(8)));
      break;
    case 2:
      bytes[at] = pick(kBytes, random);
      break;
    case 3:
      bytes[at] = static_cast<char>(random.integer(256));
      break;
    case 4: {  // a number of one, two, four or eight bytes
      const size_t width = std::min(size_t{1} << random.integer(4), bytes.size() - at);
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, width);
      switch (random.integer(4)) {
        case 0:
          value += 1;
          break;
        case 1:
          value -= 1;
          break;
        case 2:
          value = bytes.size() + random.integer(3) - 1;
          break;
        default:
          value = extreme(random);
      }
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
      bytes.insert(at, 1 + random.integer(16), pick(kBytes, random));
      break;
    default:
      bytes.resize(at);
  }
}

FuzzReport fuzz(const FuzzTarget& target, uint64_t inputs) {
  PSM_CHECK(!target.corpus.empty(), target.name);
  inputs = from_environment("PSM_FUZZ_INPUTS", inputs);
  const std::string replay = from_environment("PSM_FUZZ_FILE");
  if (!replay.empty()) inputs = 1;
  std::vector<std::vector<size_t>> marks;
  size_t largest = 0;
  for (const std::string& valid : target.corpus) {
    marks.push_back(target.marks ? target.marks(valid) : std::vector<size_t>{});
    largest = std::max(largest, valid.size());
  }
  kept = folder_for_failures() + "/fuzz-input";
  const auto before = signal(SIGABRT, keep_and_abort);
  FuzzReport report;
  const TrainingRandom streams(from_environment("PSM_FUZZ_SEED", 1));
  for (uint64_t k = 0; k < inputs && report.failure.empty(); ++k) {
    TrainingRandom random = streams.split(k);
    const size_t which = random.integer(target.corpus.size());
    std::string bytes = target.corpus[which];
    for (uint64_t rounds = 1 + random.integer(1 + random.integer(8)); rounds > 0 && k > 0; --rounds) {
      mutate(bytes, target.corpus, marks[which], random);
    }
    bytes.resize(std::min(bytes.size(), 4 * largest + 64));
    if (target.repair && random.integer(4) > 0) target.repair(bytes, random);
    if (!replay.empty()) bytes = read_file(replay, uint64_t{1} << 30);
    // Memory of its own, so that the address sanitiser sees a read beyond the end.
    const auto exact = std::make_unique<char[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    current = {exact.get(), bytes.size()};

    const auto fail = [&](const std::string& what) {
      keep_input();
      report.failure = message(target.name, ", input ", k, ", kept in ", kept, ": ", what);
    };
    const AllocationMeter meter;
    const std::clock_t start = std::clock();
    try {
      target.decode(current);
      ++report.accepted;
    } catch (const Error& error) {
      ++report.refused;
      if (!is_one_line(error.what()))
        fail(message("refused without a message of one line: '", error.what(), "'"));
    } catch (const std::exception& error) {
      fail(message("an exception that is no Error: ", error.what()));
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const size_t peak = meter.peak_bytes();
    if (peak > target.fixed_bytes + target.bytes_per_byte * bytes.size()) {
      fail(message(bytes.size(), " bytes took ", peak, " bytes of memory"));
    }
    report.peak_bytes = std::max(report.peak_bytes, peak);
    report.slowest_seconds = std::max(report.slowest_seconds, seconds);
    ++report.inputs;
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
