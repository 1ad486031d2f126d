#include "cmd/client/prompt_record.h"

#include <cstring>

#include "ckks/base/files/checksum.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

template <typename Tables>
void describe(Tables& t, PromptRecord& record) {
  wire::list(t, record.lengths, 4, [&](std::vector<int>& group) {
    wire::list(t, group, 4, [&](int& length) { t.number(length); });
  });
}

std::string PromptRecord::text() const {
  std::string text = note_text(*this);
  const uint64_t checksum = checksum64(text.data(), text.size());
  return text.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

PromptRecord PromptRecord::parse(const std::string& text, const std::string& path, int max_prompts,
                                 int max_length) {
  uint64_t checksum = 0;
  const size_t size = text.size() < sizeof checksum ? 0 : text.size() - sizeof checksum;
  if (size > 0) std::memcpy(&checksum, text.data() + size, sizeof checksum);
  if (size == 0 || checksum != checksum64(text.data(), size)) {
    throw Error(message(path,
                        " is damaged: how long the prompts were is not known; bring the file back, or remove "
                        "it and give the prompts again"));
  }
  auto record = parse_note<PromptRecord>(text.substr(0, size), path);
  for (const std::vector<int>& lengths : record.lengths) {
    if (lengths.empty() || lengths.size() > static_cast<size_t>(max_prompts))
      throw Error(
          message(path, ": a group has ", lengths.size(), " prompts, from 1 to ", max_prompts, " fit"));
    for (const int length : lengths)
      if (length < 1 || length > max_length)
        throw Error(message(path, ": a prompt of ", length, " tokens, from 1 to ", max_length, " fit"));
  }
  if (record.lengths.empty() || record.lengths.size() > kMaxCiphertexts)
    throw Error(path + " lists no prompts, or too many");
  return record;
}

}  // namespace psm::cmd
