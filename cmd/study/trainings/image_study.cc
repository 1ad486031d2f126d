#include "cmd/study/trainings/image_study.h"

namespace psm::cmd {
namespace {
constexpr int kPatch = 7, kLayers = 4, kWidth = 64, kHeads = 4;
}  // namespace

train::ImageData study_images(const StudyContext& context) {
  return train::ImageData::from_files(context.data_file("image/mnist-t10k-images-idx3-ubyte.gz"),
                                      context.data_file("image/mnist-t10k-labels-idx1-ubyte.gz"),
                                      {.patch = kPatch});
}

attention::ModelConfig study_vit(const train::ImageData& images) {
  attention::ModelConfig model = attention::preset("vit");
  model.context = images.context();
  model.classes = images.classes();
  model.patch_inputs = images.patch_inputs();
  model.layers = kLayers, model.width = kWidth, model.heads = kHeads, model.ffn = 4 * kWidth;
  return model;
}

}  // namespace psm::cmd
