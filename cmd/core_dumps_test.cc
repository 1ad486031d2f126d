// Commands that hold a secret key or what was decrypted forbid core dumps before they read anything.
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/skip.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("no command that holds a secret key or what was decrypted leaves a core file") {
  rlimit limit;
  REQUIRE(getrlimit(RLIMIT_CORE, &limit) == 0);
  if (limit.rlim_max == 0) return say_skipped("core files are forbidden here already");
  // Nobody writes to the pipe, so who opens it waits there until it is killed.
  const std::string pipe = path_of("pipe"), forbidden = path_of("forbidden"), nowhere = path_of("nowhere"),
                    client = " --client " + pipe, model = " --model " + pipe;
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  // Soft limit and hard limit are 0; or ten seconds went by.
  const std::string looked = "grep -qs '^Max core file size *0 *0 ' /proc/$$/limits && : >" + forbidden +
                             " || [ $((looks=looks+1)) = 2000 ]";
  for (const std::string& command :
       {"keygen --out " + nowhere + client,
        "encrypt --keys " + nowhere + " --out " + nowhere + ".ct" + client,
        "decrypt --keys " + nowhere + " --in " + nowhere + client, "compare --program x --prompt x" + client,
        "demo" + model, "generate --program x --prompt x" + client, "bench --suite model" + model,
        "study run power --out " + nowhere + " --text " + pipe}) {
    CAPTURE(command);
    run_command_line(command, "ulimit -S -c $(ulimit -H -c); " + signalled("KILL", looked));
    CHECK(std::filesystem::remove(forbidden));
  }
}

}  // namespace
}  // namespace psm::cmd
