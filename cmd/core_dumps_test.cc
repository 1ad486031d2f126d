// Commands that hold a secret key or what was decrypted forbid core dumps before they read anything.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

TEST_CASE("no command that holds a secret key or what was decrypted leaves a core file") {
  rlimit limit;
  REQUIRE(getrlimit(RLIMIT_CORE, &limit) == 0);
  if (limit.rlim_max == 0) return say_skipped("core files are forbidden here already");
  // There is no such client file and no such model, so each command fails before it has read anything. It says so into
  // a full pipe that nobody reads, and waits there until it is killed.
  const std::string pipe = path_of("pipe"), forbidden = path_of("forbidden"), nowhere = path_of("nowhere"),
                    client = " --client " + nowhere, model = " --model " + nowhere;
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string fill = "exec 3<>" + pipe + "; dd if=/dev/zero of=" + pipe +
                           " bs=4096 count=1024 oflag=nonblock status=none 2>&-; ";
  // Soft limit and hard limit are 0; or ten seconds went by.
  const std::string looked = "grep -qs '^Max core file size *0 *0 ' /proc/$$/limits && : >" + forbidden +
                             " || [ $((looks=looks+1)) = 2000 ]";
  for (const std::string& command :
       {"keygen --out " + nowhere + client,
        "encrypt --keys " + nowhere + " --out " + nowhere + ".ct" + client,
        "decrypt --keys " + nowhere + " --in " + nowhere + client, "compare --program x --prompt x" + client,
        "demo" + model, "generate --program x --prompt x" + client, "bench --suite model" + model,
        "study run power --out " + path_of("study") + " --text " + nowhere, "twin --program " + nowhere}) {
    CAPTURE(command);
    const std::string line = fill + "ulimit -S -c $(ulimit -H -c); " + signalled("KILL", looked) +
                             located(command) + " >/dev/null 2>&3 </dev/null";
    REQUIRE(std::system(line.c_str()) != -1);
    CHECK(std::filesystem::remove(forbidden));
  }
}

}  // namespace
}  // namespace psm::cmd
