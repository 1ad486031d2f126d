// Fuzz targets of what training reads (ckks/base/testing/fuzz.h says how they are run for long).

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "nn/inputs/idx.h"
#include "nn/testing/fuzz_safetensors.h"
#include "train/data/image_data.h"
#include "train/data/labelled_text.h"
#include "train/stages/loop.h"

namespace psm::train {
namespace {

TEST_CASE("a running training's file") {
  const std::string path = path_of("valid");
  TrainerState saved;
  saved.values = {1, 2, 3};
  saved.optimiser.m = saved.optimiser.v = {0, 0.5f, 0.25f};
  saved.optimiser.steps = 12;
  save_training(path, "model", saved);
  FuzzTarget target{.name = "training state", .fixed_bytes = 4096, .bytes_per_byte = 100};
  target.corpus = {nn::without_checksum(read_file(path, 1 << 20))};
  target.repair = nn::repair_safetensors;
  target.marks = nn::safetensors_marks;
  target.decode = [](std::string_view bytes) {
    const TrainerState read = training_from(
        nn::read_safetensors(ByteSource("input", bytes), nn::ChecksumRule::kIfPresent), "model", "input");
    PSM_CHECK(read.values.size() == read.optimiser.m.size());
    PSM_CHECK(read.values.size() == read.optimiser.v.size());
  };
  check_fuzz(target);
}

TEST_CASE("an IDX array") {
  FuzzTarget target{.name = "IDX", .fixed_bytes = 4096, .bytes_per_byte = 4};
  target.corpus = {std::string("\0\0\x08\x01\0\0\0\x03\x07\x01\x02", 11),
                   std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02wxyz", 20)};
  target.decode = [](std::string_view bytes) {
    const nn::IdxArray array = nn::parse_idx(bytes, "input");
    size_t entries = 1;
    for (const size_t size : array.shape) entries *= size;
    PSM_CHECK(array.entries.size() == entries);
  };
  check_fuzz(target);
}

TEST_CASE("CIFAR-10's images") {
  FuzzTarget target{.name = "CIFAR-10", .fixed_bytes = 4096, .bytes_per_byte = 4};
  target.corpus = {"\x07" + std::string(3072, 'x')};
  target.decode = [](std::string_view bytes) {
    const LabelledImages read = parse_cifar10(bytes, "input");
    PSM_CHECK(read.images.entries.size() == 3072 * read.labels.entries.size());
  };
  check_fuzz(target);
}

TEST_CASE("GLUE's texts: SST-2, QNLI, MRPC") {
  FuzzTarget target{.name = "labelled texts", .fixed_bytes = 16384, .bytes_per_byte = 400};
  target.corpus = {
      "sentence\tlabel\nkids , spirit \t1\na b c\t0\r\na b c d e f g h i j k l m n\t0\n",
      "index\tquestion\tsentence\tlabel\n0\ta ?\tb .\tentailment\n1\tc ?\td .\tnot_entailment\n",
      "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta b\tc d\n0\t9\t10\te f\tg h\n"};
  target.decode = [](std::string_view bytes) {
    const LabelledSplit split = read_labelled_split(in_file(bytes));
    PSM_CHECK(!split.training.empty() && !split.held_out.empty());
    for (const auto* texts : {&split.training, &split.held_out})
      for (const LabelledText& text : *texts) {
        PSM_CHECK(!text.text.empty() && text.text.find('\n') == std::string::npos);
        PSM_CHECK(text.label == 0 || text.label == 1);
      }
  };
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::train
