#include "cmd/terminal/common_flags.h"

#include <chrono>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"

namespace psm::cmd {

ThreadsFlag::ThreadsFlag(Flags& flags)
    : threads(flags.integer("threads", 0, 0, 256, "threads to compute with; 0: one for each processor")) {}

void ThreadsFlag::apply() const {
  if (threads > 0) set_thread_count(static_cast<int>(threads));
}

CommonFlags::CommonFlags(Flags& flags)
    : ThreadsFlag(flags), json_path(flags.output("json", "write all figures to this file")) {}

void CommonFlags::write_json(const Json& json) const {
  if (!json_path.empty()) write_file(resolve_user_path(json_path), json.dump() + "\n");
}

void require_given(const Flags& flags, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!flags.given(name)) throw Error(message("--", name, " is needed; see --help"));
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace psm::cmd
