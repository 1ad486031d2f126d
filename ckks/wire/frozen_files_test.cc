// Files that were written once and lie in testdata/wire: they must go on meaning what they meant. What they
// rest on is every definition that a file does not state itself: order and root of the NTT, slots, scales and
// primes, digits and bands, the expansion of seeds, the equation of a key, the layout.
//
// A change that breaks one of these tests changes the meaning of files that exist: raise the format version
// (container.cc), unless the parameters' fingerprint changes with it, by which they are refused, and write the
// files anew,
//
//     PSM_WRITE_FROZEN=$PWD/testdata/wire bazel run //ckks/wire:frozen_files_test
//
// which also prints the fingerprints that stand below.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_verifier.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "ckks/wire/public_key_file.h"
#include "ckks/wire/testing/ciphertext_files.h"

namespace psm::wire {
namespace {

constexpr uint64_t kParameters = 0x22f06b7d3d5d3552;  // fingerprints
constexpr struct {
  ckks::ParameterSpec (*spec)();
  uint64_t fingerprint;
} kShipped[] = {{ckks::secure_n16, 0xee18641136864b99}, {ckks::secure_n16_dense, 0x6d4d12001f003802}};

constexpr double kTolerance = 1e-6;  // more than forty deviations (ckks/base/testing/chance.h)
constexpr int kTop = 3, kRotation = 3;

// All levels that a bootstrap has, in few kilobytes: the ring is no ring for a secret.
ckks::ParameterSpec frozen_spec() {
  ckks::ParameterSpec spec;
  spec.name = "insecure_frozen";
  spec.log_n = 6;
  spec.stc_levels = 1, spec.compute_levels = 2, spec.evalmod_levels = 8, spec.cts_levels = 1;
  spec.p_count = 3;
  spec.secret_hamming_weight = 16, spec.encapsulation_hamming_weight = 4;
  spec.insecure = true;
  return spec;
}

ckks::Slots frozen_values(int slots) {
  ckks::Slots values;
  for (int j = 0; j < slots; ++j) values.push_back({(j - 11) / 32.0, (7 * j % 32 - 15) / 16.0});
  return values;
}

ckks::KeyRequest frozen_keys(const ckks::Context& context) {
  const ckks::GaloisElement rotation = ckks::galois_element(context, kRotation);
  ckks::KeyRequest request;
  request.need_relinearisation(kTop);
  request.need_galois(rotation, kTop);
  request.need_raised(1, context.max_level());
  request.need_raised(rotation, context.max_level());
  return request;
}

void write_frozen(const std::string& folder) {
  ckks::TestParty party(frozen_spec());
  const ckks::Context& context = party.context;
  party.add_keys(frozen_keys(context));
  write_secret_key(folder + "/secret.key", party.secret);
  write_public_key(folder + "/public.key", context, party.public_key);
  write_evaluation_keys(folder + "/evaluation.keys", context, party.keys);
  const ckks::Slots values = frozen_values(context.slots());
  CiphertextFile file{R"({"kept": true})", {}, party.secret.fingerprint()};
  file.ciphertexts.push_back(party.encrypt(values, kTop));
  write_ciphertexts(folder + "/ciphertexts", context, file);
  CiphertextWriter seeded(folder + "/seeded.ciphertexts", context, party.secret.fingerprint(), "{}");
  seeded.write(ckks::SeededEncryptor(party.secret).encrypt(party.encoder.encode(values, kTop)));
  seeded.commit();
  std::printf("%s: 0x%016llx\n", context.spec().name.c_str(),
              static_cast<unsigned long long>(context.fingerprint()));
  for (const auto& shipped : kShipped) {
    const ckks::Context other(shipped.spec());
    std::printf("%s: 0x%016llx\n", other.spec().name.c_str(),
                static_cast<unsigned long long>(other.fingerprint()));
  }
}

// The bytes of a file, which is written first where that is asked for.
std::string frozen(const std::string& name) {
  static const std::string folder = [] {
    const char* wanted = std::getenv("PSM_WRITE_FROZEN");
    if (wanted == nullptr) return std::string("testdata/wire");
    std::filesystem::create_directories(wanted);
    write_frozen(wanted);
    return std::string(wanted);
  }();
  return read_file(folder + "/" + name, 1 << 20);
}

// All that the files hold.
struct Frozen {
  Frozen()
      : context(read_context(ByteSource("secret.key", secret_bytes), FileKind::kSecretKey)),
        secret(read_secret_key(ByteSource("secret.key", secret_bytes), *context)),
        public_key(read_public_key(ByteSource("public.key", public_bytes), *context)),
        reader(ByteSource("evaluation.keys", key_bytes), *context),
        decryptor(secret),
        values(frozen_values(context->slots())) {}

  ckks::Ciphertext only(const std::string& name) const {
    const std::string bytes = frozen(name);
    CiphertextFile file = read_ciphertexts(ByteSource(name, bytes), *context, 1);
    REQUIRE(file.ciphertexts.size() == 1);
    return std::move(file.ciphertexts[0]);
  }

  const std::string secret_bytes = frozen("secret.key"), public_bytes = frozen("public.key"),
                    key_bytes = frozen("evaluation.keys");
  std::unique_ptr<const ckks::Context> context;
  ckks::SecretKey secret;
  ckks::PublicKey public_key;
  EvaluationKeysReader reader;
  ckks::Decryptor decryptor;
  ckks::Slots values;
};

TEST_CASE_FIXTURE(Frozen, "frozen ciphertexts, whole and seeded, decrypt to the values they were made of") {
  CHECK(context->fingerprint() == kParameters);
  for (const char* name : {"ciphertexts", "seeded.ciphertexts"}) {
    const ckks::Ciphertext ciphertext = only(name);
    CHECK(ciphertext.level() == kTop);
    CHECK(ciphertext.scale() == context->scale(kTop));
    CHECK(ckks::max_error(decryptor.decrypt(ciphertext), values) < kTolerance);
  }
}

TEST_CASE_FIXTURE(Frozen, "frozen keys fulfil their equations under the frozen secret") {
  ckks::KeyVerifier verifier(secret);
  verifier.check(public_key);
  for (const auto& entry : reader.entries()) verifier.check(entry.role, entry.element, reader.load(entry));
  verifier.finish();
  reader.require(frozen_keys(*context));
}

TEST_CASE_FIXTURE(Frozen, "what is read from frozen files is written as the same bytes") {
  const std::string path = path_of("again");
  const auto same = [&](const std::string& name) { return read_file(path, 1 << 20) == frozen(name); };
  write_secret_key(path, secret);
  CHECK(same("secret.key"));
  write_public_key(path, *context, public_key);
  CHECK(same("public.key"));
  CiphertextFile file{R"({"kept": true})", {}, secret.fingerprint()};
  file.ciphertexts.push_back(only("ciphertexts"));
  write_ciphertexts(path, *context, file);
  CHECK(same("ciphertexts"));
  EvaluationKeysWriter writer(path, *context, secret.fingerprint());
  for (const auto& entry : reader.entries()) writer.write(entry.role, entry.element, reader.load(entry));
  writer.commit();
  CHECK(same("evaluation.keys"));
}

TEST_CASE("the shipped parameter sets have the primes, scales and digits that they had") {
  for (const auto& shipped : kShipped) {
    const ckks::Context context(shipped.spec());
    CAPTURE(context.spec().name);
    CHECK(context.fingerprint() == shipped.fingerprint);
  }
}

}  // namespace
}  // namespace psm::wire
