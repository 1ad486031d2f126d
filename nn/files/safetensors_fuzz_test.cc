// The fuzz target of safetensors files (ckks/base/testing/fuzz.h says how it is run for long).

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check_fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "nn/files/safetensors.h"
#include "nn/testing/fuzz_safetensors.h"

namespace psm::nn {
namespace {

TEST_CASE("safetensors: whatever the header says, what is read is no larger than the file") {
  Safetensors content;
  content.metadata = {{"config", "{\"a\": 1}"}, {"note", "quotes \" and \\ and \n"}};
  content.tensors = {{"x.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f}}, {"y", {1}, {7}}, {"empty", {0, 4}, {}}};
  const std::string path = path_of("valid");
  write_safetensors(path, content);
  const std::string file = read_file(path, 1 << 20);

  // As a foreign file has it: other types, a mask, no metadata.
  const std::string foreign_header =
      R"({"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[6,8]},)"
      R"("y":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[16,20]}})";
  std::string foreign(8, '\0');
  foreign[0] = static_cast<char>(foreign_header.size()),
  foreign[1] = static_cast<char>(foreign_header.size() >> 8);
  foreign += foreign_header + std::string(20, '\1');

  FuzzTarget target{.name = "safetensors", .fixed_bytes = 4096, .bytes_per_byte = 100};
  target.corpus = {without_checksum(file), file, foreign};
  target.repair = repair_safetensors;
  target.marks = safetensors_marks;
  target.decode = [](std::string_view bytes) {
    Safetensors read = read_safetensors(ByteSource("input", bytes), ChecksumRule::kIfPresent, 1 << 10);
    size_t values = 0;
    for (const NamedTensor& tensor : read.tensors) {
      size_t count = 1;
      for (int64_t size : tensor.shape) count *= static_cast<size_t>(size);
      PSM_CHECK(count == tensor.values.size(), count);
      values += count;
    }
    PSM_CHECK(values * 2 <= bytes.size(), values);
    Safetensors opened = open_safetensors(ByteSource("input", bytes), ChecksumRule::kIfPresent);
    for (size_t i = 0; i < opened.tensors.size(); ++i) PSM_CHECK(opened.load(i) == read.tensors[i].values, i);
    const int64_t shape[] = {1};
    const std::vector<float> y = read.at("y", shape, "input");
    PSM_CHECK(read.take("y", shape, "input") == y && opened.take("y", shape, "input") == y);
  };
  const FuzzReport report = check_fuzz(target);
  CHECK(report.refused > report.accepted);
}

}  // namespace
}  // namespace psm::nn
