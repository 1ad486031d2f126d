#include "ckks/wire/testing/fuzz_container.h"

#include <cstring>

#include "ckks/base/files/checksum.h"

namespace psm::wire {
namespace {

// Offsets of FORMATS.md.
constexpr size_t kNameLengthAt = 96, kNameAt = 100, kRecordHead = 12;

template <typename T>
T number_at(const std::string& file, size_t at) {
  T number;
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}

void put_at(std::string& file, size_t at, uint64_t value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

// Where the checksum of the header stands, or npos.
size_t header_end(const std::string& file) {
  if (file.size() < kNameAt) return std::string::npos;
  const size_t end = kNameAt + number_at<uint32_t>(file, kNameLengthAt);
  return end + 8 <= file.size() ? end : std::string::npos;
}

// Calls visit(begin, where its checksum stands, is it the end record) for each record that is there as a whole.
template <typename Visit>
void for_each_record(const std::string& file, Visit&& visit) {
  size_t at = header_end(file);
  if (at == std::string::npos) return;
  for (at += 8; at + kRecordHead + 8 <= file.size();) {
    const bool last = number_at<uint32_t>(file, at) == 0;
    const uint64_t length = last ? 0 : number_at<uint64_t>(file, at + 4);
    if (length > file.size() - at - kRecordHead - 8) return;
    const size_t end = at + kRecordHead + length;
    visit(at, end, last);
    if (last) return;
    at = end + 8;
  }
}

}  // namespace

std::vector<size_t> container_marks(const std::string& file) {
  std::vector<size_t> marks{0};
  for (size_t at = 8; at <= kNameAt; at += 4) marks.push_back(at);
  marks.push_back(header_end(file));
  for_each_record(file, [&](size_t begin, size_t end, bool) {
    marks.insert(marks.end(), {begin, begin + 4, end, end + 8});
    for (size_t at = begin + kRecordHead; at < begin + kRecordHead + 20 && at < end; at += 4)
      marks.push_back(at);
  });
  return marks;
}

void repair_container(std::string& file, TrainingRandom& random) {
  const size_t header = header_end(file);
  if (header == std::string::npos) return;
  const bool count_too = random.integer(4) > 0;
  put_at(file, header, checksum64(file.data(), header));
  uint64_t records = 0;
  for_each_record(file, [&](size_t begin, size_t end, bool last) {
    if (last && count_too) put_at(file, begin + 4, records);
    put_at(file, end, checksum64(file.data() + begin, end - begin));
    ++records;
  });
}

}  // namespace psm::wire
