#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/client/new_keys.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

const ckks::Context& context() {
  static const ckks::Context context(ckks::insecure_bootstrappable(11));
  return context;
}

const ckks::BootstrapPlan& plan() {
  static const ckks::BootstrapPlan plan(context());
  return plan;
}

// Which key of a pair comes from another secret, with this pair's name on it.
enum class Wrong { kNone, kPublic, kRelinearisation, kGalois, kToEphemeral };

// A key pair's files in a folder of their own.
KeyFiles make_files(const std::string& name, Wrong wrong) {
  const KeyFiles files(path_of(name));
  std::filesystem::create_directory(path_of(name));
  const ckks::SecretKey secret = ckks::SecretKey::generate(context()),
                        other = ckks::SecretKey::generate(context());
  SecretVector<int32_t> coefficients(static_cast<size_t>(context().n()));
  for (size_t i = 0; i < coefficients.size(); ++i) coefficients[i] = other.coefficients()[i];
  const ckks::SecretKey posing(context(), std::move(coefficients), secret.fingerprint().key);
  ckks::KeyGenerator right(secret), false_one(posing);
  const auto generator = [&](Wrong key) -> ckks::KeyGenerator& {
    return key == wrong && key != Wrong::kNone ? false_one : right;
  };
  write_file(files.sharing, "{}");
  wire::write_secret_key(files.secret, secret);
  wire::write_public_key(files.public_key, context(), generator(Wrong::kPublic).public_key());
  const ckks::KeyRequest request = plan().key_request();
  wire::EvaluationKeysWriter writer(files.evaluation, context(), secret.fingerprint());
  for (const ckks::Level level : request.relinearisation_keys(context().chain())) {
    writer.relinearisation(generator(Wrong::kRelinearisation).relinearisation(level));
  }
  ckks::KeySwitchKey to, from;
  generator(Wrong::kToEphemeral).encapsulation(to, from);
  writer.to_ephemeral(to);
  writer.from_ephemeral(from);
  bool last = true;
  const auto elements = request.galois_keys(context().chain());
  for (size_t i = elements.size(); i-- > 0; last = false) {
    writer.galois(
        elements[i].first,
        generator(last ? Wrong::kGalois : Wrong::kNone).galois(elements[i].first, elements[i].second));
  }
  writer.commit();
  return files;
}

TEST_CASE("a key pair that is in order passes, with a bootstrap where there is memory for one") {
  const KeyFiles files = make_files("good", Wrong::kNone);
  const KeyCheck with = check_keys(files, context(), &plan(), nullptr, 1);
  CHECK(with.bootstrapped);
  CHECK(with.keys == 0);  // these are a bootstrap's and no others
  const KeyCheck without = check_keys(files, context(), &plan(), nullptr, SIZE_MAX);
  CHECK_FALSE(without.bootstrapped);
  CHECK(without.keys + 1 ==
        plan().key_request().count(context().chain()));  // but for the two around ModRaise
  CHECK_FALSE(check_keys(files, context(), nullptr, nullptr, 0).bootstrapped);
}

TEST_CASE("one key of another secret is found, and without a bootstrap the message says which") {
  for (const auto& [wrong, what] :
       std::vector<std::pair<Wrong, std::string>>{{Wrong::kPublic, "encryption under the public key"},
                                                  {Wrong::kRelinearisation, "the key for products"},
                                                  {Wrong::kGalois, "the key of the Galois element"},
                                                  {Wrong::kToEphemeral, ""}}) {
    CAPTURE(what);
    const KeyFiles files = make_files("wrong" + std::to_string(static_cast<int>(wrong)), wrong);
    CHECK_THROWS_AS(check_keys(files, context(), &plan(), nullptr, 1), Error);
    if (wrong == Wrong::kToEphemeral) continue;
    CHECK_THROWS_WITH_AS(check_keys(files, context(), nullptr, nullptr, 0), doctest::Contains(what.c_str()),
                         Error);
  }
}

TEST_CASE("the files of a new pair are in their places when they are kept, and else nowhere") {
  namespace fs = std::filesystem;
  const KeyFiles files(path_of("made"));
  const auto make = [&](bool keep) {
    NewKeyFiles made(files);
    for (const std::string& file : {made.files().secret, made.files().evaluation}) write_file(file, "a key");
    CHECK_THROWS_WITH_AS(NewKeyFiles{files}, doctest::Contains("another process"), Error);
    if (keep) made.keep();
  };
  make(false);
  CHECK(fs::is_empty(path_of("made")));
  make(true);
  CHECK(std::distance(fs::directory_iterator(path_of("made")), {}) == 2);
  CHECK(read_file(files.secret, 10) == "a key");
  // What is there is never replaced, also where the secret key is elsewhere.
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(NewKeyFiles{files}, doctest::Contains("evaluation.keys exists already"), Error);
    fs::remove(files.secret);
  }
}

}  // namespace
}  // namespace psm::cmd
