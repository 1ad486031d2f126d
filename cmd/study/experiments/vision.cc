// Fig. powerVsbaseVision, Table comparison (images): ViT with softmax and with PowerSoftmax.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/classifier_study.h"
#include "train/data/image_data.h"

namespace psm::cmd {
namespace {

constexpr int kPatch = 7, kLayers = 4, kWidth = 64, kHeads = 4;

attention::ModelConfig vit_of(const train::ImageData& images) {
  attention::ModelConfig model = attention::preset("vit");
  model.context = images.context();
  model.classes = images.classes();
  model.patch_inputs = images.patch_inputs();
  model.layers = kLayers, model.width = kWidth, model.heads = kHeads, model.ffn = 4 * kWidth;
  return model;
}

void run(StudyContext& context, StudyResult& result) {
  const auto images = train::ImageData::from_files(context.data_file("image/mnist-t10k-images-idx3-ubyte.gz"),
                                                   context.data_file("image/mnist-t10k-labels-idx1-ubyte.gz"),
                                                   {.patch = kPatch});
  compare_classifiers(context,
                      {.name = "mnist",
                       .source = images,
                       .model = vit_of(images),
                       .range_losses = train::text_range_losses()},
                      result);

  Table paper({"in the paper, % right", "softmax", "PowerSoftmax", "difference"});
  paper.row({"Tiny-ImageNet", "59.48", "59.58", "+0.10"});
  paper.row({"CIFAR-100", "75.39", "73.66", "-1.73"});
  paper.row({"CIFAR-10", "94.07", "93.36", "-0.71"});
  result.table("Table comparison", paper);
  result.note(
      "The paper has no polynomial ViT: the last rows are ours. Its figure has curves without numbers beside "
      "those of "
      "the table.");
}

}  // namespace

Experiment vision_experiment() {
  return {.name = "vision",
          .title = "Vision: a ViT with softmax, PowerSoftmax and scaled ReLU, to its polynomial form",
          .scaled_down =
              "MNIST instead of Tiny-ImageNet, CIFAR-100 and CIFAR-10, and of it the 10,000 test images "
              "alone, which "
              "are at hand: every tenth is held out, 9,000 train, moved by up to 2 pixels. A ViT of 4 "
              "layers, d = 64, "
              "16 patches of 7 x 7; the paper does not say which ViT it trained.",
          .run = run};
}

}  // namespace psm::cmd
