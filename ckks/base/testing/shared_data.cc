#include "ckks/base/testing/shared_data.h"

#include <filesystem>
#include <system_error>

#include "ckks/base/testing/skip.h"

namespace psm {

std::optional<std::string> shared_data(const std::string& name) {
  // A test stands in a folder of links to the files of the repository; one of them leads to it.
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical("ckks/base/testing/shared_data.h", error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder / "WORKSPACE", error))
    folder = folder.parent_path();
  const std::filesystem::path path = folder.parent_path() / "shared" / "data" / name;
  if (std::filesystem::is_regular_file(path, error)) return path.string();
  say_skipped("../shared/data/" + name + " is missing");
  return std::nullopt;
}

}  // namespace psm
