#include "cmd/server.h"

#include <algorithm>

namespace psm {

std::vector<BlockTime> time_by_block(const program::Plan& plan, const std::vector<double>& seconds, int depth) {
  std::vector<BlockTime> blocks;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const program::Instruction& instruction = plan.program.instructions[i];
    if (instruction.opcode == program::Opcode::kInput) continue;
    size_t end = 0;
    for (int part = 0; part < depth && end != std::string::npos; ++part) {
      end = instruction.label.find(" / ", end + (part > 0 ? 3 : 0));
    }
    const std::string block = instruction.label.substr(0, end);
    auto found = std::find_if(blocks.begin(), blocks.end(), [&](const BlockTime& b) { return b.block == block; });
    if (found == blocks.end()) found = blocks.insert(blocks.end(), BlockTime{block, 0, 0, 0});
    ++found->instructions;
    found->bootstraps += instruction.opcode == program::Opcode::kBootstrap;
    found->seconds += seconds[i];
  }
  return blocks;
}

Server::Server(const Deployment& deployment, const EvaluationKeys& keys)
    : deployment_(deployment),
      encoder_(*deployment.context),
      evaluator_(*deployment.context, keys),
      bootstrapper_(deployment.bootstrap ? std::make_unique<const Bootstrapper>(*deployment.context, encoder_) : nullptr),
      machine_(deployment.plan, encoder_, evaluator_, bootstrapper_.get()) {}

program::RunResult Server::run(const std::map<std::string, Ciphertext>& inputs, const program::RunOptions& options) {
  return machine_.run(inputs, options);
}

program::RunResult Server::resume(program::Checkpoint checkpoint, const program::RunOptions& options) {
  return machine_.resume(std::move(checkpoint), options);
}

size_t Server::encoded_bytes() const {
  return machine_.encoded_bytes() + (bootstrapper_ ? bootstrapper_->bytes() : 0);
}

}  // namespace psm
