// A published shape in place of a model: with random weights a text means nothing, and takes what it takes.
#pragma once

#include <cstdint>
#include <string>

#include "attention/shape/config.h"
#include "ckks/base/files/flags.h"

namespace psm::cmd {

class ShapeFlags {
 public:
  explicit ShapeFlags(Flags& flags);
  // After parse(): throws Error unless one of --model and --shape was given, and the others with --shape alone.
  void require(const Flags& flags) const;
  // Throws Error for a shape whose tokens cannot be computed one by one, and for more layers than it has.
  attention::ModelConfig config() const;

 private:
  const std::string& shape_;
  const int64_t& context_;
  const int64_t& layers_;
};

}  // namespace psm::cmd
