// Sharing over files: what a client does with a result whose precision suffices, and how its answers are
// counted.
#include "cmd/deployment/client/sharing.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/scheme/errors/worst_case.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kKey = 0xfedcba9876543210;

// A folder of its own with a record, and a file where the secret key would be.
KeyFiles folder(const std::string& name, uint64_t key = kKey) {
  const auto path = std::filesystem::path(std::getenv("TEST_TMPDIR")) / name;
  std::filesystem::create_directories(path);
  KeyFiles files(path.string());
  if (!std::filesystem::exists(files.secret)) write_file(files.secret, "not a key");
  SharingRecord::create(files, key);
  return files;
}

std::string content(const KeyFiles& files) { return read_file(files.sharing, 1 << 12); }

TEST_CASE("answers are counted over all runs, and none passes the limit") {
  const KeyFiles files = folder("counted");
  {
    SharingRecord record(files, kKey);
    CHECK(record.shared() == 0);
    CHECK(record.limit() == 0);
    record.spend(3, 5);
    CHECK(record.shared() == 3);
  }
  SharingRecord record(files, kKey);
  CHECK(record.shared() == 3);
  CHECK(record.limit() == 5);
  const std::string before = content(files);
  CHECK_THROWS_WITH_AS(
      record.spend(3, 5),
      "of the 5 answers that may be shared under this key, 3 were, and 3 more pass the limit; make new keys",
      Error);
  CHECK_THROWS_WITH_AS(record.spend(~uint64_t{0}, 5), doctest::Contains("pass the limit"), Error);
  CHECK(content(files) == before);
  record.spend(2, 5);
  CHECK_THROWS_AS(record.spend(1, 5), Error);
}

TEST_CASE("the first answers fix the limit: the noise of all depends on it") {
  const KeyFiles files = folder("limit");
  SharingRecord(files, kKey).spend(1, 10);
  CHECK_THROWS_WITH_AS(SharingRecord(files, kKey).spend(1, 1000),
                       doctest::Contains("a limit of 10 shared answers was fixed"), Error);
  CHECK_THROWS_AS(SharingRecord(files, kKey).spend(1, 9), Error);
}

TEST_CASE("two processes that share at once lose no count") {
  const KeyFiles files = folder("processes");
  constexpr int kEach = 25;
  const auto spend_all = [&] {
    for (int i = 0; i < kEach; ++i) SharingRecord(files, kKey).spend(1, 1000);
  };
  const pid_t child = fork();
  if (child == 0) {
    spend_all();
    _exit(0);
  }
  spend_all();
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(SharingRecord(files, kKey).shared() == 2 * kEach);
}

TEST_CASE("a record that is missing, changed, or another key pair's stops all sharing") {
  const KeyFiles files = folder("broken");
  SharingRecord(files, kKey).spend(7, 10);
  CHECK_THROWS_WITH_AS(SharingRecord(files, kKey + 1), doctest::Contains("another key pair"), Error);
  const std::string good = content(files);
  std::string changed = good;
  changed.replace(changed.find("\"shared\": 7"), 11, "\"shared\": 0");
  write_file(files.sharing, changed);
  CHECK_THROWS_WITH_AS(SharingRecord(files, kKey), doctest::Contains("damaged"), Error);
  write_file(files.sharing, good.substr(0, good.size() / 2));
  CHECK_THROWS_AS(SharingRecord(files, kKey), Error);
  std::filesystem::remove(files.sharing);
  CHECK_THROWS_WITH_AS(SharingRecord(files, kKey), doctest::Contains("is missing"), Error);
  write_file(files.sharing, good);
  CHECK(SharingRecord(files, kKey).shared() == 7);
  CHECK((std::filesystem::status(folder("mode").sharing).permissions() &
         std::filesystem::perms::others_all) == std::filesystem::perms::none);
}

TEST_CASE(
    "a sum over files is shared up to the limit, with the precision that was promised, and not once more") {
  ckks::TestParty party(ckks::insecure_leveled(11, 4));
  const KeyFiles files = folder("leveled", party.secret.fingerprint().key);
  wire::write_secret_key(files.secret, party.secret);
  constexpr ckks::Scale kScale{0x1p140};
  const ckks::Slots x = party.random_slots(1), y = party.random_slots(2);
  const auto encrypt = [&](const ckks::Slots& v) {
    return party.encryptor.encrypt(party.encoder.encode(v, 4, kScale));
  };
  wire::CiphertextFile answer;
  answer.fingerprint = party.secret.fingerprint();
  answer.ciphertexts.push_back(party.evaluator->add(encrypt(x), encrypt(y)));
  const std::string path = std::filesystem::path(files.secret).parent_path() / "answer.ct";
  wire::write_ciphertexts(path, party.context, answer);

  const wire::CiphertextFile received = wire::read_ciphertexts(path, party.context, 1);
  const ckks::SecretKey secret = wire::read_secret_key(files.secret, party.context);
  const ckks::SharingTerms terms{.queries = 2, .precision_bits = 20};
  const double error = 2 * ckks::WorstCaseModel(party.context).encryption(kScale);
  const std::vector<std::string> names = {"sum"};
  const std::vector<OutputFlooding> floodings = {
      {"sum", ckks::plan_flooding(party.context, 4, kScale, 2 * std::sqrt(2.0), error, terms)}};
  const ckks::SharingDecryptor decryptor(secret, party.encoder);
  for (uint64_t run = 1; run <= 2; ++run) {
    SharingRecord record(files, secret.fingerprint().key);
    const ckks::Slots shown =
        share(decryptor, record, terms.queries, names, received.ciphertexts, floodings)[0];
    CHECK(record.shared() == run);
    for (size_t s = 0; s < shown.size(); ++s) REQUIRE(std::abs(shown[s] - x[s] - y[s]) < 0x1p-20);
  }
  SharingRecord record(files, secret.fingerprint().key);
  CHECK_THROWS_WITH_AS(share(decryptor, record, terms.queries, names, received.ciphertexts, floodings),
                       doctest::Contains("pass the limit"), Error);
}

TEST_CASE(
    "answers that a file names otherwise than the program are not shared under another result's noise, nor "
    "counted") {
  ckks::TestParty party(ckks::insecure_leveled(11, 4));
  const KeyFiles files = folder("named", party.secret.fingerprint().key);
  wire::write_secret_key(files.secret, party.secret);
  constexpr ckks::Scale kScale(0x1p140);
  std::vector<ckks::Ciphertext> answers;
  for (uint64_t i = 0; i < 2; ++i) {
    answers.push_back(party.encryptor.encrypt(party.encoder.encode(party.random_slots(i), 4, kScale)));
  }
  const ckks::SharingTerms terms{.queries = 4, .precision_bits = 0};
  const double error = ckks::WorstCaseModel(party.context).encryption(kScale);
  const auto flooding = [&](double times) {
    return ckks::plan_flooding(party.context, 4, kScale, std::sqrt(2.0), times * error, terms);
  };
  // The same level and scale: nothing but the names tells the two apart.
  const std::vector<OutputFlooding> floodings = {{"wide", flooding(1024)}, {"narrow", flooding(1)}};
  const ckks::SharingDecryptor decryptor(party.secret, party.encoder);
  SharingRecord record(files, party.secret.fingerprint().key);
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"narrow", "wide"}, {"narrow"}, {"wide"}, {}, {"wide", "narrow", "wide"}, {"wide", "other"}}) {
    CHECK_THROWS_WITH_AS(share(decryptor, record, terms.queries, names, answers, floodings),
                         doctest::Contains("not the outputs that sharing was planned for"), Error);
  }
  const std::vector<std::string> planned = {"wide", "narrow"};
  CHECK_THROWS_AS(share(decryptor, record, terms.queries, planned, std::span(answers).first(1), floodings),
                  Error);
  CHECK(record.shared() == 0);
  CHECK(share(decryptor, record, terms.queries, planned, answers, floodings).size() == 2);
  CHECK(record.shared() == 2);
}

}  // namespace
}  // namespace psm::cmd
