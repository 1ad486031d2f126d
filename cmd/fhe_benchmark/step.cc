// The steps of HomomorphicEncryption.org's benchmarks (github.com/fhe-benchmarking): BERT, on MRPC's pairs of sentences,
// and ml-inference, on MNIST's images. Each step is a program, and its name says which:
//
//     STEP SIZE [flags]         in the harness's folder; SIZE 0 single, 1 small, 2 medium, 3 large
//
//     client_key_generation        io/SIZE/secret_key, io/SIZE/public_keys                     by //cmd:keygen
//     server_preprocess_model      io/server_data, a copy of the program; takes no SIZE
//     client_preprocess_input      datasets/SIZE/intermediate/test_input.txt, a JSON object with two sentences a
//                                  line, or test_pixels.txt, an image a line, as io/SIZE/intermediate/prompts
//     client_encode_encrypt_input  io/SIZE/ciphertexts_upload                                  by //cmd:encrypt
//     server_encrypted_compute     io/SIZE/ciphertexts_download, server_reported_steps.json    by //cmd:infer
//     client_decrypt_decode        io/SIZE/intermediate/answers.json                           by //cmd:decrypt
//     client_postprocess           io/SIZE/encrypted_model_predictions.txt, a class a line
//
// model.program and model.client lie in the folder above the program's own, as it was called. A step starts the command
// that does it, so the server's steps link nothing of the client's. Further flags go to that command.
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "cmd/protocol/child_process.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostInput = uint64_t{1} << 28;  // bytes
constexpr size_t kMostImages = 4096;                // that //cmd:encrypt takes

// What a step knows: where files are, and the flags behind the size.
struct Task {
  std::string model;         // without .program and .client
  std::string io{}, data{};  // folders of the size
  std::vector<std::string> flags{};

  bool has_images() const { return fs::exists(data + "/test_pixels.txt"); }
  std::string prompts() const { return io + "/intermediate/prompts"; }
  std::string answers() const { return io + "/intermediate/answers.json"; }
};

// Runs a command of this repository with these flags and the task's. Returns its exit status.
int start(const char* name, std::vector<std::string> words, const Task& task) {
  words.insert(words.begin(), sibling_command(name));
  words.insert(words.end(), task.flags.begin(), task.flags.end());
  ChildProcess command(words);
  print(command.output());
  return command.wait();
}

int make_keys(const Task& task) {
  const std::string secret = task.io + "/secret_key", shared = task.io + "/public_keys";
  const int status = start("keygen", {"--client", task.model + ".client", "--out", secret}, task);
  if (status != 0) return status;
  fs::create_directories(shared);
  fs::rename(secret + "/evaluation.keys", shared + "/evaluation.keys");
  return 0;
}

int copy_program(const Task& task) {
  fs::create_directories("io/server_data");
  fs::copy_file(task.model + ".program", "io/server_data/model.program",
                fs::copy_options::overwrite_existing);
  return 0;
}

// "one<tab>two" of {"sentence1": "one", "sentence2": "two"}.
std::string pair_of(const std::string& line, const std::string& file) {
  const Json json = parse_json(line, file);
  const auto text_of = [&](const char* key) {
    std::string text = json.at(key, file).string(message(file, ", ", key));
    for (char& c : text)
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    return text;
  };
  return text_of("sentence1") + "\t" + text_of("sentence2") + "\n";
}

// Grey values, 0 to 255, of numbers from 0 to 1; they must be as many as those of the first image, a square's.
std::string image_of(const std::string& line, size_t& side, const std::string& file) {
  std::istringstream numbers(line);
  std::string image;
  for (double value; numbers >> value;) {
    if (!(value >= 0 && value <= 1)) throw Error(message(file, ": ", value, " is no grey value from 0 to 1"));
    image += static_cast<char>(std::lround(255 * value));
  }
  if (side == 0) side = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(image.size()))));
  if (!numbers.eof() || image.empty() || image.size() != side * side)
    throw Error(message(file, ": a line of ", image.size(), " numbers is no square image like the others"));
  return image;
}

// In the format of MNIST's files (nn/inputs/idx.h).
std::string idx_of(const std::string& images, size_t side) {
  std::string file("\0\0\x08\x03", 4);
  for (const size_t size : {images.size() / (side * side), side, side})
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift & 255);
  return file + images;
}

int prepare_input(const Task& task) {
  const std::string file = task.data + (task.has_images() ? "/test_pixels.txt" : "/test_input.txt");
  std::istringstream lines(read_file(file, kMostInput));
  std::string content;
  size_t side = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) content += task.has_images() ? image_of(line, side, file) : pair_of(line, file);
  if (content.empty()) throw Error(file + " holds no input");
  if (task.has_images() && content.size() > kMostImages * side * side)
    throw Error(message(file, " holds more than ", kMostImages, " images, which is all that one run takes"));
  fs::create_directories(task.io + "/intermediate");
  write_file(task.prompts(), task.has_images() ? idx_of(content, side) : content);
  return 0;
}

int encrypt_input(const Task& task) {
  fs::create_directories(task.io + "/ciphertexts_upload");
  std::vector<std::string> words{
      "--client",  task.model + ".client", "--keys", task.io + "/secret_key",
      "--prompts", task.prompts(),         "--out",  task.io + "/ciphertexts_upload/prompts.ct"};
  // The reference cuts pairs that are longer than its model takes, too.
  words.push_back(task.has_images() ? "--sample=" + std::to_string(kMostImages) : "--cut");
  return start("encrypt", std::move(words), task);
}

int compute(const Task& task) {
  fs::create_directories(task.io + "/ciphertexts_download");
  const std::string figures = task.io + "/server_figures.json";
  const double begin = seconds_now();
  const int status =
      start("infer",
            {"--program", "io/server_data/model.program", "--keys", task.io + "/public_keys/evaluation.keys",
             "--in", task.io + "/ciphertexts_upload/prompts.ct", "--out",
             task.io + "/ciphertexts_download/answers.ct", "--json", figures},
            task);
  if (status != 0) return status;
  const Json json = parse_json(read_file(figures, kMostInput), figures);
  Json steps;
  for (const auto& [reported, name] : {std::pair("Encrypted computation", "infer"), std::pair("I/O", "read"),
                                       std::pair("Encoding of kept weights", "prepare")})
    steps[reported] = json.at("seconds", figures).at(name, figures).number(figures);
  steps["Total"] = seconds_now() - begin;
  write_file(task.io + "/server_reported_steps.json", steps.dump(2) + "\n");
  return 0;
}

int decrypt_answers(const Task& task) {
  fs::create_directories(task.io + "/intermediate");
  return start("decrypt",
               {"--client", task.model + ".client", "--keys", task.io + "/secret_key", "--in",
                task.io + "/ciphertexts_download/answers.ct", "--json", task.answers()},
               task);
}

int write_predictions(const Task& task) {
  constexpr std::string_view kClass = "class ";
  const std::string file = task.answers();
  const Json json = parse_json(read_file(file, kMostInput), file);
  std::string predictions;
  for (const Json& answer : json.at("answers", file).array(file)) {
    const std::string& text = answer.string(file);
    if (!text.starts_with(kClass))
      throw Error(message(file, ": '", text, "' is no class; compile a classifier"));
    predictions += text.substr(kClass.size()) + "\n";
  }
  write_file(task.io + "/encrypted_model_predictions.txt", predictions);
  return 0;
}

constexpr struct {
  const char* name;
  int (*run)(const Task&);
} kSteps[] = {{"client_key_generation", make_keys},       {"server_preprocess_model", copy_program},
              {"client_preprocess_input", prepare_input}, {"client_encode_encrypt_input", encrypt_input},
              {"server_encrypted_compute", compute},      {"client_decrypt_decode", decrypt_answers},
              {"client_postprocess", write_predictions}};

int step(int argc, char** argv) {
  const fs::path self = fs::absolute(argv[0]).lexically_normal();
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const auto& [name, run] : kSteps) {
    if (self.filename() != name) continue;
    Task task{.model = (self.parent_path().parent_path() / "model").string()};
    const std::string size = words.empty() ? "" : words[0];
    if (run != copy_program) {
      if (size.size() != 1 || size[0] < '0' || size[0] > '3')
        throw Error(message("usage: ", name, " SIZE, from 0 to 3"));
      constexpr const char* kSizes[] = {"single", "small", "medium", "large"};
      const std::string folder = kSizes[size[0] - '0'];
      task.io = "io/" + folder, task.data = "datasets/" + folder + "/intermediate";
      task.flags.assign(words.begin() + 1, words.end());
    }
    return run(task);
  }
  throw Error(message(self.filename().string(), " is no step of the benchmark"));
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::step, argc, argv); }
