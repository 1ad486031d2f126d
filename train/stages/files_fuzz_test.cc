// Fuzz targets of what training reads (ckks/base/testing/fuzz.h says how they are run for long).

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check_fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "nn/inputs/cifar.h"
#include "nn/inputs/idx.h"
#include "nn/testing/fuzz_safetensors.h"
#include "train/data/labelled_text.h"
#include "train/stages/loop.h"

namespace psm::train {
namespace {

TEST_CASE("a running training's file") {
  const std::string path = path_of("valid");
  SavedTraining saved;
  saved.state.values = {1, 2, 3};
  saved.state.optimiser.m = saved.state.optimiser.v = {0, 0.5f, 0.25f};
  saved.state.optimiser.steps = 12;
  save_training(path, "model", saved);
  FuzzTarget target;
  target.name = "training state";
  target.corpus = {nn::without_checksum(read_file(path, 1 << 20))};
  target.repair = nn::repair_safetensors;
  target.marks = nn::safetensors_marks;
  target.decode = [](std::string_view bytes) {
    const SavedTraining read = training_from(
        nn::read_safetensors(ByteSource("input", bytes), nn::ChecksumRule::kIfPresent), "model", "input");
    PSM_CHECK(read.state.values.size() == read.state.optimiser.m.size());
    PSM_CHECK(read.state.values.size() == read.state.optimiser.v.size());
  };
  target.fixed_bytes = 4096, target.bytes_per_byte = 100;
  check_fuzz(target);
}

TEST_CASE("an IDX array") {
  FuzzTarget target;
  target.name = "IDX";
  target.corpus = {std::string("\0\0\x08\x01\0\0\0\x03\x07\x01\x02", 11),
                   std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02wxyz", 20)};
  target.decode = [](std::string_view bytes) {
    const nn::IdxArray array = nn::parse_idx(bytes, "input");
    size_t entries = 1;
    for (const size_t size : array.shape) entries *= size;
    PSM_CHECK(array.entries.size() == entries);
  };
  target.fixed_bytes = 4096, target.bytes_per_byte = 4;
  check_fuzz(target);
}

TEST_CASE("CIFAR-10's images") {
  FuzzTarget target;
  target.name = "CIFAR-10";
  target.corpus = {"\x07" + std::string(3072, 'x')};
  target.decode = [](std::string_view bytes) {
    const nn::LabelledImages read = nn::parse_cifar10(bytes, "input");
    PSM_CHECK(read.images.entries.size() == 3072 * read.labels.entries.size());
  };
  target.fixed_bytes = 4096, target.bytes_per_byte = 4;
  check_fuzz(target);
}

TEST_CASE("SST-2's phrases") {
  FuzzTarget target;
  target.name = "SST-2";
  target.corpus = {"sentence\tlabel\nkids , spirit \t1\na b c\t0\r\n"};
  target.decode = [](std::string_view bytes) {
    for (const LabelledText& phrase : parse_sst2(bytes, "input")) {
      PSM_CHECK(!phrase.text.empty() && phrase.text.find('\n') == std::string::npos);
      PSM_CHECK(phrase.label == 0 || phrase.label == 1);
    }
  };
  target.fixed_bytes = 4096, target.bytes_per_byte = 40;
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::train
