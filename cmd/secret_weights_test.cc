// Text generated with encrypted weights by two processes: what it costs, what is missing or does not go together, and
// that neither the memory of the server nor its files hold the weights.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attention/encrypted/decode.h"
#include "attention/files/checkpoint.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/compiler/compile.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

const std::string kPrompt = " --prompt \"k0 v1 k2 v3 k0\"";

const std::string kPlainKeys = path_of("plain-keys");  // for plaintext weights

// `compiled`: the folder of the program.
std::string arguments(const std::string& rest, const std::string& keys, const std::string& compiled) {
  return "generate --insecure --reuse-keys --client " + compiled + "/text.client --program " + compiled +
         "/text.program --keys " + keys + " " + rest;
}
std::string arguments(const std::string& rest, const std::string& keys = kKeys) {
  return arguments(rest, keys, keys);
}

// The model; what was compiled, and keys, for both kinds of weights; and the encrypted weights.
void prepare() {
  if (fs::exists(kPlainKeys)) return;
  make_model(kModel, 1);
  const std::string make = "generate --model " + kModel + kRing + " --tokens 0 --keys ";
  output_of(make + kKeys + " --encrypted-weights");
  output_of(make + kPlainKeys);
}

TEST_CASE("encrypted weights give the text of plaintext ones, and the figures say what they cost") {
  prepare();
  const std::string out =
      output_of(arguments("--compare --tokens 4 --json " + path_of("run.json") + kPrompt));
  CHECK(text_in(out) == text_in(output_of(arguments("--tokens 4" + kPrompt, kPlainKeys))));
  const std::string first = output_of(arguments("--tokens 1 --device emulated" + kPrompt));
  CHECK_FALSE(contains(first, "\na token "));  // the only step is on a prompt
  CHECK(text_in(out).starts_with(text_in(first)));
  CHECK(out.find("(5 tokens, one by one)") != std::string::npos);
  CHECK(out.find("the program's own text in the clear, the same: " + text_in(out)) != std::string::npos);
  const Json json = json_in("run.json");
  const Json& encrypted = json.at("encrypted_weights", "run");
  const auto number = [](const Json& of, const char* name) { return of.at(name, "run").number(name); };
  CHECK(number(json, "seconds_per_token") > 0);
  CHECK(number(encrypted, "file_bytes") < 0.55 * number(encrypted, "memory_bytes"));
  CHECK(number(json, "peak_rss_bytes") > number(encrypted, "memory_bytes"));
  CHECK(number(json.at("agreement", "run"), "max_abs") < 0.1);
}

TEST_CASE("weights or keys that are missing, and what goes with no encrypted weights, are refused") {
  prepare();
  const std::string more = "--tokens 2" + kPrompt;
  check_refused(arguments(more + " --window slide"), "--window slide is for plaintext weights");
  const std::string keyless = path_of("keyless"), fresh = path_of("fresh");
  fs::copy(kKeys, keyless);
  fs::remove(keyless + "/secret.key");
  check_refused(arguments(more, keyless), "without the keys that it is under");
  check_refused(arguments(more + " --server \"" + located("serve") + " --insecure --program " + kKeys +
                          "/text.program --keys " + kKeys + "/evaluation.keys\""),
                "this program has no weights; give --weights");
  check_refused("serve --program x --keys y", "through pipes");
  check_refused("serve --keys y", "program");
  fs::copy(kKeys, fresh);
  fs::remove(fresh + "/weights.ct");
  check_refused(arguments(more + " --server true", fresh), "needs weights that the server has already");
}

std::string bytes_of(const auto* values, size_t count) {
  return std::string(reinterpret_cast<const char*>(values), count * sizeof(*values));
}

// Bytes that somebody who has the weights has: of some entries as stored.
std::vector<std::string> stored_patterns() {
  const attention::Checkpoint checkpoint = attention::load_checkpoint(kModel);
  std::vector<std::string> found;
  for (const attention::LayerWeights& layer : checkpoint.weights.layers)
    for (const auto* w : {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_up, &layer.w_down})
      found.push_back(bytes_of(w->data() + w->size() / 2, 4));
  return found;
}

// As a program's file has its vectors.
std::vector<std::string> program_patterns() {
  const ckks::Context context(ckks::insecure_version(ckks::secure_n16(), 11));
  const PackedModel packed(attention::load_checkpoint(kModel), context, 1);
  const auto weights =
      attention::build_decode_program(packed.model, packed.packing, /*encrypted_weights=*/true).weights;
  std::vector<std::string> found;
  for (const nn::WeightInput& weight : weights) {
    const std::span<const ckks::Complex> slots = weight.weight.values();
    if (slots.size() <= 8) continue;  // stands in the file as doubles
    for (size_t s = 0; s + 1 < slots.size(); ++s)
      if (slots[s] != 0.0 && slots[s + 1] != 0.0 && slots[s] != slots[s + 1] && slots[s].imag() != 0 &&
          s % 256 != 255) {
        const std::complex<float> pair[] = {std::complex<float>(slots[s]), std::complex<float>(slots[s + 1])};
        found.push_back(bytes_of(pair, 2));
        break;
      }
  }
  return found;
}

// How many of them are in the bytes.
size_t count_in(std::string_view bytes, const std::vector<std::string>& patterns, std::vector<char>& seen) {
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!seen[i])
      seen[i] = ::memmem(bytes.data(), bytes.size(), patterns[i].data(), patterns[i].size()) != nullptr;
  return static_cast<size_t>(std::count(seen.begin(), seen.end(), 1));
}

// All memory that a process has mapped. `read`: how many bytes that was.
size_t count_in_memory(int process, const std::vector<std::string>& patterns, size_t& read) {
  constexpr size_t kBlock = 64 << 20, kOverlap = 64;
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps");
  std::FILE* memory = std::fopen((folder + "/mem").c_str(), "rb");
  REQUIRE(memory != nullptr);
  std::vector<char> seen(patterns.size()), block(kBlock);
  size_t count = 0;
  read = 0;
  for (std::string line; std::getline(maps, line);) {
    size_t from = 0, to = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%zx-%zx %4s", &from, &to, access) != 3 || access[0] != 'r') continue;
    if (line.find("[v") != std::string::npos) continue;  // the kernel's
    for (size_t at = from; at < to; at += kBlock - kOverlap) {
      std::fseek(memory, static_cast<long>(at), SEEK_SET);
      const size_t bytes = std::fread(block.data(), 1, std::min(kBlock, to - at), memory);
      read += bytes;
      count = count_in({block.data(), bytes}, patterns, seen);
      if (to - at <= kBlock) break;
    }
  }
  std::fclose(memory);
  return count;
}

// The weights that are in a server's memory while a run of `generate` is in its third token.
size_t count_in_server(const std::string& rest, const std::vector<std::string>& patterns,
                       const std::string& keys = kKeys) {
  const std::string out = path_of("watched.out"), pid = path_of("watched.pid"),
                    code = path_of("watched.code");
  fs::remove(out);
  fs::remove(code);
  const std::string command = "(" + located(arguments(rest, keys)) + " >" + out + " 2>/dev/null & echo $! >" +
                              pid + "; wait $!; echo $? >" + code + ") &";
  REQUIRE(std::system(command.c_str()) == 0);
  const auto tokens = [&] {
    std::ifstream file(out);
    int count = 0;
    for (std::string line; std::getline(file, line);) count += line.starts_with("  token");
    return count;
  };
  while (tokens() < 2 && !fs::exists(code)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  REQUIRE(!fs::exists(code));
  int client = 0, server = 0;
  std::ifstream(pid) >> client;
  std::ifstream("/proc/" + std::to_string(client) + "/task/" + std::to_string(client) + "/children") >>
      server;
  REQUIRE(server > 0);
  ::kill(server, SIGSTOP);
  size_t bytes = 0;
  const size_t count = count_in_memory(server, patterns, bytes);
  ::kill(server, SIGCONT);
  CHECK(bytes > size_t{100} << 20);
  while (!fs::exists(code) || fs::file_size(code) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(read_file(code, 100) == "0\n");
  return count;
}

TEST_CASE(
    "neither memory nor files of a server with encrypted weights hold them; with plaintext ones they do") {
  prepare();
  const std::vector<std::string> of_program = program_patterns();
  std::vector<std::string> all = stored_patterns();
  all.insert(all.end(), of_program.begin(), of_program.end());
  REQUIRE(of_program.size() > 5);
  REQUIRE(all.size() > 20);
  const std::string more = " --tokens 8" + kPrompt, blind = path_of("blind"), plain = path_of("plain");
  CHECK(count_in_server("--state " + blind + more, all) == 0);
  CHECK(count_in_server("--state " + plain + more, of_program, kPlainKeys) == of_program.size());
  std::vector<char> seen(all.size());
  for (const std::string& file : {kKeys + "/text.program", kKeys + "/weights.ct", kKeys + "/evaluation.keys",
                                  blind + "/server/text.ct"})
    CHECK(count_in(read_file(file, 1 << 28), all, seen) == 0);
  CHECK(count_in(read_file(kModel, 1 << 28), all, seen) > 10);  // as stored
  // A text is of these weights, and no other server's.
  check_refused(arguments("--tokens 6 --state " + blind, kKeys, kPlainKeys),
                "another program, or of other weights");
}

}  // namespace
}  // namespace psm::cmd
