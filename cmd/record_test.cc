// A record of a run, computed again; and what was changed in one is found. In a ring that offers no security.
#include <algorithm>
#include <filesystem>
#include <string>

#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

const std::string kRecord = path_of("record");

std::string record_to(const std::string& folder, const std::string& rest = "--prompt \"k0 v1 k2 v3 k0\"") {
  return "record --client " + path_of("text.client") + " --program " + path_of("text.program") +
         " --tokens 2 --out " + folder + " " + rest + " --insecure";
}
std::string replay_of(const std::string& folder) { return "replay --record " + folder + " --insecure"; }

void prepare() {
  static const bool once = [] {
    make_model(kModel, 1);
    output_of("compile --for text --model " + kModel + " --out " + path_of("text") + kRing);
    const std::string out = output_of(record_to(kRecord));
    CHECK(contains(out, "//cmd:replay -- --record " + kRecord + " --insecure\n"));
    return out.find("test key") != std::string::npos;
  }();
  REQUIRE(once);
}

// A copy of the record with record.json changed.
std::string changed(const std::string& name, const std::string& what, const std::string& by) {
  prepare();
  const std::string folder = path_of(name);
  std::filesystem::copy(kRecord, folder, std::filesystem::copy_options::recursive);
  std::string json = read_file(kRecord + "/record.json", 1 << 24);
  replace(json, what, by);
  write_file(folder + "/record.json", json);
  return folder;
}

TEST_CASE("a record says that its secret key is a test key, and has the same bits again with other kernels") {
  prepare();
  const Json json =
      parse_json(read_file(kRecord + "/record.json", 1 << 24), "record", {.max_bytes = 1 << 24});
  CHECK(json.at("note", "r").string("note").find("test key") != std::string::npos);
  const Json::Array& runs = json.at("runs", "r").array("runs");
  REQUIRE(runs.size() == 2);  // the prompt, and a token
  CHECK(runs[0].at("kind", "r").string("kind") == "prompt");
  CHECK(runs[1].at("kind", "r").string("kind") == "token");
  CHECK(runs[0].at("digests", "r").array("digests").size() > 100);
  for (const char* rest : {" --threads 1", " --backend scalar", " --device emulated"}) {
    const std::string out = output_of(replay_of(kRecord) + rest + " --json " + path_of("replay.json"));
    CHECK(contains(out, "the same bits in all"));
    const Json replayed = json_in("replay.json");
    CHECK(replayed.at("same", "r").truth("same"));
    CHECK(replayed.at("runs", "r").integer("runs", 2, 2) == 2);
  }
}

TEST_CASE("the first difference is named") {
  prepare();
  const Json json =
      parse_json(read_file(kRecord + "/record.json", 1 << 24), "record", {.max_bytes = 1 << 24});
  const Json::Array& digests = json.at("runs", "r").array("runs")[1].at("digests", "r").array("digests");
  const std::string last = digests.back().string("digest");
  const std::string folder = changed("other_bits", last, "0123456789abcdef");
  check_refused(replay_of(folder),
                "the first difference is in run 2, instruction " + std::to_string(digests.size() - 1), 1);
  check_refused(replay_of(folder), last + " here and 0123456789abcdef recorded", 1);
}

TEST_CASE("what is no record, or not the files that were recorded, is one clear line") {
  prepare();
  check_refused(record_to(kRecord), "is there already");
  check_refused(record_to(path_of("long"), "--prompt \"k0 v1 k2 v3 k0 v1 k2 v3 k0 v1 k2 v3 k0 v1 k2 v3\""),
                "do not fit the 16 places of the model; shorten the prompt");
  CHECK_FALSE(std::filesystem::exists(path_of("long")));
  check_refused(record_to(path_of("none"), ""), "--prompt");
  check_refused(replay_of(path_of("nowhere")), "cannot read");
  check_refused("replay --record " + kRecord, "no security");
  check_refused(replay_of(changed("version", "\"version\": 2", "\"version\": 1")), "reads version 2");
  check_refused(replay_of(changed("kind", "\"kind\": \"token\"", "\"kind\": \"tokens\"")), "a run is a");
  check_refused(replay_of(changed("hex", "\"program\": \"", "\"program\": \"z")),
                "sixteen hexadecimal digits");
  const std::string folder = changed("request", "\"version\": 2", "\"version\": 2");
  std::string request = read_file(folder + "/request-1", 1 << 26);
  request[request.size() / 2] ^= 1;
  write_file(folder + "/request-1", request);
  check_refused(replay_of(folder), "request-1 is not the file that was recorded");
  std::filesystem::copy_file(kModel, folder + "/keys/evaluation.keys",
                             std::filesystem::copy_options::overwrite_existing);
  check_refused(replay_of(folder), "evaluation.keys is not the file that was recorded");
}

}  // namespace
}  // namespace psm::cmd
