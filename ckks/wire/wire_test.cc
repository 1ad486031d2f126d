#include <algorithm>
#include <filesystem>
#include <optional>

#include "ckks/base/buffer.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/instruction_trace.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "ckks/wire/public_key_file.h"
#include "ckks/wire/tables.h"
#include "ckks/wire/testing/ciphertext_files.h"

namespace psm::wire {
namespace {

constexpr uint64_t kAnySize = uint64_t{1} << 30;

ckks::KeyRequest some_keys(const ckks::Context& context) {
  ckks::KeyRequest request;
  request.need_relinearisation(3);
  request.need_galois(ckks::galois_element(context, 1), 2);
  request.need_galois(ckks::galois_element(context, 0, true), 3);
  return request;
}

ckks::EvaluationKeys read_evaluation_keys(ByteSource source, const ckks::Context& context) {
  EvaluationKeysReader reader(std::move(source), context);
  ckks::EvaluationKeys keys;
  keys.fingerprint = reader.fingerprint();
  for (const auto& entry : reader.entries())
    keys.keys.emplace(ckks::use_of(context, entry), reader.load(entry));
  return keys;
}

// A small party whose keys and a ciphertext lie in files.
struct Files {
  Files() : party(ckks::insecure_leveled(6, 3)) {
    party.add_keys(some_keys(context));
    write_secret_key(secret, party.secret);
    write_public_key(public_key, context, party.public_key);
    write_evaluation_keys(evaluation, context, party.keys);
    values = party.random_slots(1);
    CiphertextFile file{R"({"prompts": 1})", {}, party.secret.fingerprint()};
    file.ciphertexts.push_back(party.encrypt(values, 2));
    write_ciphertexts(ciphertexts, context, file);
    CiphertextWriter fresh(seeded, context, party.secret.fingerprint(), "{}");
    fresh.write(ckks::SeededEncryptor(party.secret).encrypt(party.encoder.encode(values, 3)));
    fresh.commit();
  }
  ckks::TestParty party;
  const ckks::Context& context = party.context;
  ckks::Slots values;
  const std::string secret = path_of("secret.key"), public_key = path_of("public.key"),
                    evaluation = path_of("evaluation.keys"), ciphertexts = path_of("ciphertexts"),
                    seeded = path_of("seeded");
};

TEST_CASE_FIXTURE(Files, "what is written to memory is what is written to a file") {
  const ckks::SeededCiphertext seeded =
      ckks::SeededEncryptor(party.secret).encrypt(party.encoder.encode(values, 2));
  const ckks::Ciphertext whole = party.encrypt(values, 3);
  const auto write = [&](CiphertextWriter writer) {
    writer.write(seeded);
    writer.write(whole);
    writer.commit();
  };
  const std::string path = ciphertexts + ".again", note = R"({"a": 1})";
  std::string memory = "what was there before";
  write({path, context, party.secret.fingerprint(), note});
  write({&memory, context, party.secret.fingerprint(), note});
  CHECK(memory == read_file(path, 1 << 20));
}

TEST_CASE("a file of ciphertexts is opened by its heads and read one ciphertext at a time, in any order") {
  ckks::TestParty party(ckks::insecure_leveled(10, 3));
  constexpr size_t kCount = 24;
  const std::string path = path_of("stream");
  CiphertextWriter writer(path, party.context, party.secret.fingerprint(), "{}");
  ckks::SeededEncryptor seeded(party.secret);
  for (size_t i = 0; i < kCount; ++i) {
    const ckks::Plaintext plaintext =
        party.encoder.encode(party.random_slots(i), ckks::Level::at(static_cast<int>(i % 4)));
    if (i % 3 == 0) {
      writer.write(seeded.encrypt(plaintext));
    } else {
      writer.write(party.encryptor.encrypt(plaintext));
    }
  }
  writer.commit();
  const size_t one = party.encrypt(party.random_slots(0), 3).bytes(),
               before = buffer_pool::statistics().bytes_in_use;
  buffer_pool::reset_peak();
  CiphertextReader reader(path, party.context, kCount);
  REQUIRE(reader.heads().size() == kCount);
  CHECK(buffer_pool::statistics().peak_in_use == before);
  for (size_t i = kCount; i-- > 0;) {
    CHECK(reader.heads()[i].level == ckks::Level::at(static_cast<int>(i % 4)));
    CHECK(reader.heads()[i].scale == party.context.scale(ckks::Level::at(static_cast<int>(i % 4))));
    CHECK(reader.heads()[i].seeded == (i % 3 == 0));
    // More than forty deviations, here and below (ckks/base/testing/chance.h).
    CHECK(ckks::max_error(party.decryptor.decrypt(reader.load(i)), party.random_slots(i)) < 1e-6);
  }
  // Together with the decryption: far from the file's 24.
  CHECK(buffer_pool::statistics().peak_in_use - before < 3 * one);
}

TEST_CASE("a ciphertext that is damaged is refused when it is read, and the others are read all the same") {
  ckks::TestParty party(ckks::insecure_leveled(6, 3));
  const std::string path = path_of("three");
  CiphertextFile file{"{}", {}, party.secret.fingerprint()};
  for (uint64_t i = 0; i < 3; ++i) file.ciphertexts.push_back(party.encrypt(party.random_slots(i), 2));
  write_ciphertexts(path, party.context, file);
  std::string bytes = read_file(path, kAnySize);
  CiphertextReader reader(ByteSource("damaged", bytes), party.context, 3);
  const size_t middle = reader.heads()[1].position + 12 + 12 + 40;  // a residue of c_0
  bytes[middle] = static_cast<char>(bytes[middle] ^ 4);
  CHECK_REFUSED(reader.load(1), "it is damaged");
  for (const size_t i : {size_t{0}, size_t{2}}) {
    CHECK(ckks::max_error(party.decryptor.decrypt(reader.load(i)), party.random_slots(i)) < 1e-6);
  }
  // A head that changes after the opening is no head of this file.
  bytes[middle] = static_cast<char>(bytes[middle] ^ 4);
  bytes[reader.heads()[1].position + 12] = 1;  // its level
  CHECK_THROWS_AS(reader.load(1), Error);
  CHECK_REFUSED(CiphertextReader(ByteSource("damaged", bytes), party.context, 3), "are expected");
}

TEST_CASE("the checksum of a file's heads changes with every limb of every ciphertext") {
  ckks::TestParty party(ckks::insecure_leveled(6, 2));
  const std::string path = path_of("identity");
  CiphertextFile file{"{}", {}, party.secret.fingerprint()};
  file.ciphertexts.push_back(party.encrypt(party.random_slots(1), 2));
  const auto checksum = [&] {
    write_ciphertexts(path, party.context, file);
    return CiphertextReader(path, party.context, 1).checksum();
  };
  const uint64_t before = checksum();
  for (ckks::RnsPoly& poly : file.ciphertexts[0].c) {
    for (int j = 0; j < poly.limbs(); ++j) {
      poly.limb(j)[3] ^= 1;
      CHECK(checksum() != before);
      poly.limb(j)[3] ^= 1;
    }
  }
  file.note = "[]";
  CHECK(checksum() != before);
  file.note = "{}";
  CHECK(checksum() == before);
}

TEST_CASE_FIXTURE(Files, "a secret key's file that others may read or write is refused") {
  using std::filesystem::perms;
  for (const perms open : {perms::group_read, perms::others_read, perms::group_write, perms::others_write}) {
    std::filesystem::permissions(secret, perms::owner_read | perms::owner_write | open);
    CHECK_REFUSED(read_secret_key(secret, context), "others than its owner may read or write it");
  }
  std::filesystem::permissions(secret, perms::owner_read);
  CHECK(read_secret_key(secret, context).fingerprint() == party.secret.fingerprint());
}

TEST_CASE("a secret key's file is written and read by the same instructions for all secrets") {
  set_thread_count(1);
  const ckks::Context context(ckks::insecure_leveled(7, 1));
  const std::string path = path_of("traced.key");
  const ckks::SecretKey secrets[] = {ckks::SecretKey::generate(context), ckks::SecretKey::generate(context)};
  std::string bytes[2];
  for (int run = 0; run < 2; ++run) {  // what is made once is made now
    write_secret_key(path, secrets[run]);
    bytes[run] = read_file(path, kAnySize);
    read_secret_key(ByteSource("key", bytes[run]), context);
  }
  // Nothing stays allocated in between, so that all begin with the same heap.
  std::optional<InstructionTrace> writing[2], reading[2];
  for (int run = 0; run < 2; ++run) {
    writing[run] = trace_instructions([&] { write_secret_key(path, secrets[run]); });
    reading[run] = trace_instructions([&] { read_secret_key(ByteSource("key", bytes[run]), context); });
  }
  if (!writing[0] || !reading[0]) return say_skipped("this system does not let a process trace its child");
  CHECK(writing[0]->steps > 1000);
  CHECK(*writing[0] == *writing[1]);
  CHECK(*reading[0] == *reading[1]);
}

TEST_CASE_FIXTURE(Files, "a request's keys are read and no others; a file that lacks one says which") {
  EvaluationKeysReader reader(evaluation, context);
  ckks::KeyRequest few;
  few.need_galois(ckks::galois_element(context, 1), 1);
  const ckks::EvaluationKeys keys = reader.load(few);
  CHECK(keys.keys.size() == 1);
  CHECK(keys.find(context, KeyRole::kGalois, ckks::galois_element(context, 1), 1) != nullptr);
  ckks::KeyRequest higher;
  higher.need_galois(ckks::galois_element(context, 1), 3);
  CHECK_REFUSED(reader.load(higher),
                "the key of the Galois element 5 at level 2 serves levels up to 2, level 3 is needed");
  ckks::KeyRequest other;
  other.need_galois(ckks::galois_element(context, 2), 1);
  CHECK_REFUSED(reader.load(other), "lacks the key of the Galois element 25 at level 1");
}

TEST_CASE_FIXTURE(Files,
                  "a key that is refused in its middle is no obstacle to the next, nor to itself once more") {
  const ckks::EvaluationKeys whole = read_evaluation_keys(evaluation, context);
  std::string bytes = read_file(evaluation, kAnySize);
  EvaluationKeysReader reader(ByteSource("damaged", bytes), context);
  // Residues of all ones are above every prime; here they are the first digit's, so that others are left unread.
  const EvaluationKeysReader::Entry damaged = reader.entries().at(0);
  REQUIRE(context.digit_count(damaged.level) > 1);
  std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(damaged.position + damaged.bytes / 4), 64, '\xff');
  for (int time = 0; time < 2; ++time) {
    CHECK_REFUSED(reader.load(damaged), "damaged");
    for (const EvaluationKeysReader::Entry& entry : reader.entries()) {
      if (entry.position == damaged.position) continue;
      const ckks::KeySwitchKey key = reader.load(entry);
      const ckks::KeySwitchKey* expected = whole.find(context, entry.role, entry.element, entry.level);
      REQUIRE(expected != nullptr);
      CHECK(key.seed == expected->seed);
      CHECK(key.digits.size() == expected->digits.size());
    }
  }
}

TEST_CASE_FIXTURE(Files, "two keys with one role and Galois element are refused") {
  EvaluationKeysWriter writer(path_of("twice"), context, party.keys.fingerprint);
  const auto& [use, key] = *party.keys.keys.begin();
  for (int i = 0; i < 2; ++i) writer.write(std::get<KeyRole>(use), std::get<ckks::GaloisElement>(use), key);
  writer.commit();
  CHECK_REFUSED(EvaluationKeysReader(path_of("twice"), context), "the key for products at level 3 twice");
}

TEST_CASE("a file of many keys passes through the memory of one, in any order") {
  ckks::TestParty party(ckks::insecure_leveled(10, 3));
  const ckks::Context& context = party.context;
  const std::string path = path_of("many");
  constexpr int kKeys = 24;
  const size_t one_key = context.chain().key_bytes(3), before = buffer_pool::statistics().bytes_in_use;
  buffer_pool::reset_peak();
  EvaluationKeysWriter writer(path, context, party.secret.fingerprint());
  for (int offset = 1; offset <= kKeys; ++offset) {
    const ckks::GaloisElement g = ckks::galois_element(context, offset);
    writer.write(KeyRole::kGalois, g, party.generator.galois(g, 3));
  }
  writer.commit();
  EvaluationKeysReader reader(path, context);
  REQUIRE(reader.entries().size() == kKeys);
  const ckks::Slots values(static_cast<size_t>(context.slots()), 0.5);
  const ckks::Ciphertext x =
      ckks::expand(ckks::SeededEncryptor(party.secret).encrypt(party.encoder.encode(values, 3)));
  for (auto entry = reader.entries().rbegin(); entry != reader.entries().rend(); ++entry) {
    ckks::EvaluationKeys one;
    one.fingerprint = reader.fingerprint();
    one.keys.emplace(ckks::use_of(context, *entry), reader.load(*entry));
    const ckks::Evaluator evaluator(context, one);
    const ckks::Ciphertext turned = evaluator.apply_galois(evaluator.hoist(x), entry->element);
    CHECK(ckks::max_error(party.decrypt(turned), values) < 1e-6);
  }
  // Together with what makes and uses a key: far from the file's 24.
  CHECK(buffer_pool::statistics().peak_in_use - before < 4 * one_key);
  CHECK(std::filesystem::file_size(path) > kKeys / 4 * one_key);
}

TEST_CASE_FIXTURE(
    Files, "the sizes of files are what the functions say, and a seed takes the place of half a ciphertext") {
  const uint64_t container = container_bytes(context.spec());
  const std::string note = R"({"prompts": 1})";
  CHECK(std::filesystem::file_size(ciphertexts) ==
        container + record_bytes(note.size()) + record_bytes(ciphertext_payload(context, 2, false)));
  CHECK(std::filesystem::file_size(seeded) ==
        container + record_bytes(2) + record_bytes(ciphertext_payload(context, 3, true)));
  CHECK(10 * ciphertext_payload(context, 3, true) < 7 * ciphertext_payload(context, 3, false));
}

TEST_CASE_FIXTURE(Files, "every truncation and every flipped bit is refused") {
  TrainingRandom random(7);
  const auto mutate = [&](const std::string& path, auto&& read) {
    const std::string whole = read_file(path, kAnySize);
    for (size_t length = 0; length < whole.size(); length += 1 + whole.size() / 97)
      CHECK_THROWS_AS(read(ByteSource("cut", std::string_view(whole).substr(0, length))), Error);
    for (int round = 0; round < 400; ++round) {
      std::string changed = whole;
      // The header and the first record's head are where lengths stand: hit them often.
      const size_t span = round % 2 == 0 ? std::min<size_t>(whole.size(), 220) : whole.size();
      const size_t at = static_cast<size_t>(random.integer(span));
      changed[at] = static_cast<char>(changed[at] ^ (1 << random.integer(8)));
      CHECK_THROWS_AS(read(ByteSource("damaged", changed)), Error);
    }
  };
  mutate(secret, [&](ByteSource source) { read_secret_key(std::move(source), context); });
  mutate(public_key, [&](ByteSource source) { read_public_key(std::move(source), context); });
  mutate(evaluation, [&](ByteSource source) { read_evaluation_keys(std::move(source), context); });
  mutate(ciphertexts, [&](ByteSource source) { read_ciphertexts(std::move(source), context, 9); });
  mutate(seeded, [&](ByteSource source) { read_ciphertexts(std::move(source), context, 9); });
}

TEST_CASE_FIXTURE(Files, "a key whose shape does not fit its role is refused") {
  const std::string path = path_of("roles");
  const ckks::GaloisElement g = ckks::galois_element(context, 1),
                            two_n = 2 * static_cast<ckks::GaloisElement>(context.n());
  ckks::KeyRequest request;
  request.need_raised(1, 0);
  request.need_raised(g, 3);
  const ckks::EvaluationKeys keys = party.generator.evaluation_keys(request);
  write_evaluation_keys(path, context, keys);
  CHECK(read_evaluation_keys(path, context).keys.size() == 3);
  const ckks::KeySwitchKey &to = *keys.find(context, KeyRole::kToEphemeral, 0, 0),
                           &low = *keys.find(context, KeyRole::kFromEphemeral, 1, 0),
                           &high = *keys.find(context, KeyRole::kFromEphemeral, g, 3);
  const auto refused = [&](KeyRole role, ckks::GaloisElement element, const ckks::KeySwitchKey& key,
                           const char* why) {
    EvaluationKeysWriter writer(path, context, party.keys.fingerprint);
    writer.write(role, element, key);
    writer.commit();
    CHECK_REFUSED(read_evaluation_keys(path, context), why);
  };
  refused(KeyRole::kToEphemeral, 0, low, "fit its role");
  refused(KeyRole::kFromEphemeral, 1, to, "fit its role");
  refused(KeyRole::kRelinearisation, 0, to, "fit its role");
  refused(KeyRole::kToEphemeral, 1, to, "impossible Galois element");
  for (const ckks::GaloisElement wrong : {ckks::GaloisElement{0}, g + 1, two_n + 1})
    refused(KeyRole::kFromEphemeral, wrong, high, "impossible Galois element");
  // The digits of a level, in the place of the one.
  std::string bytes = read_file(evaluation, kAnySize);
  EvaluationKeysReader reader(ByteSource("digits", bytes), context);
  const EvaluationKeysReader::Entry& conjugation = reader.entries().back();
  REQUIRE(conjugation.role == KeyRole::kGalois);
  REQUIRE(conjugation.digits > 1);
  bytes[conjugation.position] = static_cast<char>(KeyRole::kFromEphemeral);
  CHECK_REFUSED(EvaluationKeysReader(ByteSource("digits", bytes), context), "a wrong number of digits");
}

// A list of differences, as tables have it.
struct Steps {
  std::vector<uint64_t> values;
};
template <typename Tables>
void describe(Tables& tables, Steps& steps) {
  uint64_t before = 0;
  list(tables, steps.values, 1, [&](uint64_t& value) { difference(tables, value, before); });
}

TEST_CASE("differences take few bytes, and have one form") {
  const Steps steps{{0, 63, 0, 8191, 8191, uint64_t{1} << 50, 1}};
  const std::string bytes = to_bytes(steps);
  CHECK(bytes.size() == 4 + 1 + 1 + 1 + 2 + 1 + 8 + 8);
  CHECK(from_bytes<Steps>(bytes, "steps").values == steps.values);
  const std::string one("\1\0\0\0", 4);
  CHECK_REFUSED(from_bytes<Steps>(one + std::string("\x80\0", 2), "steps"), "a number in too many bytes");
  CHECK_REFUSED(from_bytes<Steps>(one + std::string(10, '\xff'), "steps"), "a number in too many bytes");
  CHECK_REFUSED(from_bytes<Steps>(one + "\x80", "steps"), "its tables end early");
  TableReader reader(reinterpret_cast<const uint8_t*>("\xfe\xff\xff\xff\x7f"), 5, "");  // 2^34 - 1
  int value = 0, before = 0;
  CHECK_REFUSED(difference(reader, value, before), "a number that is too large");
}

}  // namespace
}  // namespace psm::wire
