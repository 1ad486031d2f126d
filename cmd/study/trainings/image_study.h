// The images of the study, and the ViT that experiments train on them.
#pragma once

#include "attention/shape/config.h"
#include "cmd/study/report/context.h"
#include "train/data/image_data.h"

namespace psm::cmd {

// MNIST in patches of 7 x 7; throws psm::Error if its files are missing.
train::ImageData study_images(const StudyContext& context);
// 4 layers of d = 64 with heads of 16.
attention::ModelConfig study_vit(const train::ImageData& images);

}  // namespace psm::cmd
