#include "cmd/prompts/logits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/wire/tables.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMagic = 0x0a5354494c4d5350;  // "PSMLITS\n"
constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

struct LogitsFile {
  uint64_t magic = kMagic, program_id = 0;
  LogitRows rows;
};

template <typename Tables>
void describe(Tables& t, LogitsFile& file) {
  t.number(file.magic);
  if (file.magic != kMagic) t.refuse("it holds no logits; give the file of decrypt --logits");
  t.number(file.program_id);
  wire::list(t, file.rows, 4, [&](std::vector<double>& row) {
    wire::list(t, row, 8, [&](double& logit) { t.number(logit); });
  });
}

}  // namespace

int argmax(std::span<const double> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double cosine(std::span<const double> a, std::span<const double> b) {
  const auto dot = [](std::span<const double> x, std::span<const double> y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

void append_logits(const attention::ClientModel& model, const attention::SlotVectors& outputs,
                   const attention::Examples& examples, LogitRows& rows) {
  const int count = model.shape.logit_count();
  for (const auto& logits : attention::client_logits(model, outputs, examples)) {
    PSM_CHECK(logits.size() % static_cast<size_t>(count) == 0, logits.size(), " ", count);
    for (auto at = logits.begin(); at != logits.end(); at += count) rows.emplace_back(at, at + count);
  }
}

double rms_difference(const LogitRows& some, const LogitRows& all) {
  double squares = 0;
  size_t count = 0;
  for (size_t row = 0; row < some.size(); ++row) {
    for (size_t i = 0; i < some[row].size(); ++i, ++count) {
      squares += (some[row][i] - all[row][i]) * (some[row][i] - all[row][i]);
    }
  }
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

void write_logits(const std::string& path, uint64_t program_id, LogitRows rows) {
  write_file(path, wire::to_bytes(LogitsFile{kMagic, program_id, std::move(rows)}),
             AtomicFile::Kind::kSecret);
}

LogitRows read_logits(const std::string& path, uint64_t program_id) {
  const std::string what = "cannot read " + path;
  LogitsFile file = wire::from_bytes<LogitsFile>(read_file(path, kMaxBytes), what);
  if (file.program_id != program_id)
    throw Error(what + ": its logits are of another program than the client file's");
  return std::move(file.rows);
}

}  // namespace psm::cmd
