#include "ckks/wire/file_context.h"

#include <utility>

#include "ckks/base/error.h"

namespace psm::wire {

std::unique_ptr<const ckks::Context> make_context(const ContainerReader& reader) {
  auto context = std::make_unique<const ckks::Context>(reader.header().spec);
  require_parameters(reader, *context);
  return context;
}

std::unique_ptr<const ckks::Context> read_context(ByteSource source, FileKind kind) {
  return make_context(ContainerReader(std::move(source), kind));
}

void require_parameters(const ContainerReader& reader, const ckks::Context& context) {
  if (reader.header().fingerprint.parameters != context.fingerprint()) {
    reader.refuse("it was made for other parameters; use files of one key generation");
  }
}

}  // namespace psm::wire
