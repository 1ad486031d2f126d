#include "cmd/client/new_keys.h"

#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "ckks/base/files/file.h"
#include "ckks/base/random/random.h"
#include "ckks/base/testing/check.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "ckks/wire/public_key_file.h"
#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

const ckks::Context& context() {
  static const ckks::Context context(ckks::insecure_bootstrappable(10));
  return context;
}

const ckks::KeyRequest& request() {
  static const ckks::KeyRequest request = [] {
    ckks::KeyRequest keys;
    keys.need_raised(1, context().max_level());
    keys.need_raised(ckks::galois_element(context().chain(), 1), context().max_level());
    keys.need_relinearisation(1);
    keys.need_relinearisation(context().compute_level());
    keys.need_galois(ckks::galois_element(context().chain(), 1), context().max_level());
    keys.need_galois(ckks::galois_element(context().chain(), 0, true), 2);
    return keys;
  }();
  return request;
}

using Entry = wire::EvaluationKeysReader::Entry;

// The evaluation keys again, each as `other` gives it back; none where that has no digits.
void rewrite(const KeyFiles& files,
             const std::function<ckks::KeySwitchKey(const Entry&, ckks::KeySwitchKey)>& other) {
  wire::EvaluationKeysReader reader(files.evaluation, context());
  wire::EvaluationKeysWriter writer(files.evaluation, context(), reader.fingerprint());
  for (const Entry& entry : reader.entries()) {
    const ckks::KeySwitchKey key = other(entry, reader.load(entry));
    if (!key.digits.empty()) writer.write(entry.role, entry.element, key);
  }
  writer.commit();
}

// Which keys pass is not left to chance: key_verifier_test.cc says why.
TEST_CASE("keys that are made pass their test, in their places and as many as were asked for") {
  const KeyFiles files(path_of("new"));
  const NewKeys made = make_key_files(files, context(), request());
  CHECK(made.count == request().count(context().chain()));
  CHECK(made.file_bytes == fs::file_size(files.evaluation));
  CHECK(made.file_bytes == wire::evaluation_keys_file_bytes(context(), request()));
  CHECK(std::distance(fs::directory_iterator(path_of("new")), {}) == 3);
  wire::EvaluationKeysReader(files.evaluation, context()).require(request());
  check_key_files(files, context());
  rewrite(files, [](const Entry&, ckks::KeySwitchKey key) { return key; });
  check_key_files(files, context());
  CHECK_REFUSED(make_key_files(files, context(), request()), "exists already");
}

TEST_CASE("one key of another secret, with this pair's name on it, is found and named") {
  const KeyFiles files(path_of("exchanged"));
  make_key_files(files, context(), request());
  SecureRandom random;
  const ckks::SecretKey impostor(
      context(), ckks::sample_secret(context(), context().spec().secret_hamming_weight, random),
      wire::read_secret_key(files.secret, context()).fingerprint().key);
  ckks::KeyGenerator generator(impostor);
  const std::string good = read_file(files.evaluation, uint64_t{1} << 32);
  const auto exchange = [&](wire::KeyRole role, const std::string& why,
                            const std::function<ckks::KeySwitchKey(const Entry&)>& make) {
    write_file(files.evaluation, good);
    rewrite(files, [&](const Entry& entry, ckks::KeySwitchKey key) {
      return entry.role == role ? make(entry) : std::move(key);
    });
    CHECK_REFUSED(check_key_files(files, context()), why);
  };
  exchange(wire::KeyRole::kRelinearisation, "the key for products at level 1 is not",
           [&](const Entry& entry) { return generator.relinearisation(entry.level); });
  exchange(wire::KeyRole::kGalois, "the key of the Galois element",
           [&](const Entry& entry) { return generator.galois(entry.element, entry.level); });
  const ckks::EvaluationKeys others = generator.evaluation_keys(request());
  const auto others_key = [&](const Entry& entry) {
    return others.keys.at(ckks::use_of(context(), entry)).in(nullptr);
  };
  exchange(wire::KeyRole::kToEphemeral, "the key before ModRaise", others_key);
  exchange(wire::KeyRole::kFromEphemeral, "the ephemeral secret", others_key);
  for (const auto role : {wire::KeyRole::kToEphemeral, wire::KeyRole::kFromEphemeral})
    exchange(role, "the set of keys around ModRaise", [](const Entry&) { return ckks::KeySwitchKey{}; });

  write_file(files.evaluation, good);
  check_key_files(files, context());
  wire::write_public_key(files.public_key, context(), generator.public_key());
  CHECK_REFUSED(check_key_files(files, context()), "the public key is not");
}

TEST_CASE("the files of a new pair are in their places when they are kept, and else nowhere") {
  const KeyFiles files(path_of("made"));
  const auto make = [&](bool keep) {
    NewKeyFiles made(files);
    for (const std::string& file : {made.files().secret, made.files().public_key, made.files().evaluation})
      write_file(file, "a key");
    CHECK_REFUSED(NewKeyFiles{files}, "another process");
    if (keep) made.keep();
  };
  make(false);
  CHECK_FALSE(fs::exists(path_of("made")));
  fs::create_directory(path_of("made"));  // a folder of the user's stays
  make(false);
  CHECK(fs::is_empty(path_of("made")));
  make(true);
  CHECK(std::distance(fs::directory_iterator(path_of("made")), {}) == 3);
  CHECK(read_file(files.secret, 10) == "a key");
  // What is there is never replaced, also where the secret key is elsewhere.
  for (int i = 0; i < 2; ++i) {
    CHECK_REFUSED(NewKeyFiles{files}, "evaluation.keys exists already");
    fs::remove(files.secret);
  }
  // Also by a pair that a killed process made and had not moved.
  const std::string whole = path_of("made") + "/.new-keys.whole";
  fs::create_directory(whole);
  for (const char* name : {"/evaluation.keys", "/secret.key"}) write_file(whole + name, "another");
  CHECK_REFUSED(NewKeyFiles{files}, "evaluation.keys exists already");
  CHECK(read_file(files.evaluation, 10) == "a key");
  CHECK_FALSE(fs::exists(files.secret));
}

}  // namespace
}  // namespace psm::cmd
