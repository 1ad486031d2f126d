#include "cmd/deployment/deployment.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "ckks/base/error.h"
#include "ckks/bootstrap/error_model.h"

namespace psm::cmd {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "psm-compiled-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw Error("cannot make a folder for temporary files");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

PlannedPass compiled(const PackedModel& model, const attention::Checkpoint& checkpoint,
                     const ckks::Context& context) {
  const TemporaryFolder folder;
  const std::string name = folder.path() + "/model";
  compile_model(model, checkpoint.notes, context, CompiledFor::kPass, name, false);
  return PlannedPass(program::load_program(name + ".program"));
}

}  // namespace

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec)
    : Deployment(checkpoint, ckks::Context(spec)) {}

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& own)
    : PackedModel(checkpoint, own), PlannedPass(compiled(*this, checkpoint, own)) {
  if (plan.bootstraps > 0) bootstrap_error_std = ckks::predict_error(*bootstraps.full).rms();
}

}  // namespace psm::cmd
