#include "cmd/protocol/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>

#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

std::string make_folder(const std::string& instead) {
  const std::filesystem::path parent = std::filesystem::absolute(std::filesystem::temp_directory_path());
  std::string path = parent / ("psm-" + std::string(6, 'X'));  // mkdtemp replaces the last six
  if (::mkdtemp(path.data()) == nullptr)
    throw Error(message("cannot make a folder in ", parent.string(), instead));
  return path;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& instead)
    : path_(make_folder(instead)),
      remover_({"/bin/sh", "-c", "trap '' HUP INT QUIT TERM; cat; rm -rf -- \"$0\"", path_}) {}

}  // namespace psm::cmd
