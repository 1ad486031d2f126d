// A fuzz target for every file of ckks/wire (ckks/base/testing/fuzz.h says how they are run for long).
#include <exception>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/testing/test_party.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "ckks/wire/public_key_file.h"
#include "ckks/wire/testing/ciphertext_files.h"
#include "ckks/wire/testing/fuzz_container.h"
#include "doctest/doctest.h"

namespace psm::wire {
namespace {

// The smallest ring, so that most of a file is structure.
ckks::ParameterSpec tiny() {
  ckks::ParameterSpec spec = ckks::insecure_leveled(4, 2);
  spec.p_count = 2;  // keys of more than one digit
  spec.secret_hamming_weight = 8;
  spec.encapsulation_hamming_weight = 4;
  return spec;
}

struct Corpus {
  Corpus() : party(tiny()) {
    request.need_relinearisation(2);
    request.need_galois(ckks::galois_element(party.context, 1), 1);
    request.need_galois(ckks::galois_element(party.context, 0, true), 2);
    request.need_raised(1, 2);
    request.need_raised(ckks::galois_element(party.context, 1), 1);
    party.add_keys(request);
    PSM_CHECK(party.context.digit_count(2) > 1);
    write_secret_key(path, party.secret);
    secret = taken();
    write_public_key(path, party.context, party.public_key);
    public_key = taken();
    write_evaluation_keys(path, party.context, party.keys);
    evaluation = taken();
    CiphertextFile file{R"({"prompts": 1})", {}, party.secret.fingerprint()};
    for (ckks::Level level = 0; level <= 2; ++level)
      file.ciphertexts.push_back(party.encrypt(party.random_slots(1), level));
    write_ciphertexts(path, party.context, file);
    ciphertexts = taken();
    ckks::SeededEncryptor encryptor(party.secret);
    CiphertextWriter fresh(path, party.context, party.secret.fingerprint(), "{}");
    for (ckks::Level level = 0; level <= 2; ++level) {
      fresh.write(encryptor.encrypt(party.encoder.encode(party.random_slots(1), level)));
    }
    fresh.commit();
    seeded = taken();
  }

  FuzzTarget target(const char* name, std::vector<std::string> valid) const {
    // Eight bytes for each residue of three or more, halves from seeds, and the pool's classes of at least 512 bytes.
    FuzzTarget target{.name = name, .fixed_bytes = 16 << 10, .bytes_per_byte = 40};
    target.corpus = std::move(valid);
    target.repair = repair_container;
    target.marks = container_marks;
    return target;
  }

  ckks::TestParty party;
  ckks::KeyRequest request;
  std::string secret, public_key, evaluation, ciphertexts, seeded;

 private:
  std::string taken() const { return read_file(path, 1 << 20); }
  const std::string path = path_of("valid");
};

const Corpus& corpus() {
  static const Corpus instance;
  return instance;
}

constexpr uint64_t kInputs = 2000;

// Calls load(0), load(1), ... After a refusal it goes on, as a caller may; the last refusal is thrown at the end.
template <typename Load>
void load_each(size_t count, const Load& load) {
  std::exception_ptr refusal;
  for (size_t i = 0; i < count; ++i) {
    try {
      load(i);
    } catch (const Error&) {
      refusal = std::current_exception();
    }
  }
  if (refusal) std::rethrow_exception(refusal);
}

TEST_CASE("a secret key's file") {
  FuzzTarget target = corpus().target("secret key", {corpus().secret});
  target.decode = [](std::string_view bytes) {
    ByteSource source("input", bytes);
    if (bytes.size() % 16 == 5) {  // a file that others may read
      const std::string path = in_file(bytes);
      std::filesystem::permissions(path, std::filesystem::perms::all);
      source = ByteSource(path);
    }
    read_secret_key(std::move(source), corpus().party.context);
  };
  check_fuzz(target, kInputs);
}

TEST_CASE("a public key's file") {
  FuzzTarget target = corpus().target("public key", {corpus().public_key});
  target.decode = [](std::string_view bytes) {
    read_public_key(ByteSource("input", bytes), corpus().party.context);
  };
  check_fuzz(target, kInputs);
}

TEST_CASE("a file of evaluation keys: its index, and every key") {
  FuzzTarget target = corpus().target("evaluation keys", {corpus().evaluation});
  target.decode = [](std::string_view bytes) {
    EvaluationKeysReader reader(ByteSource("input", bytes), corpus().party.context);
    load_each(reader.entries().size(), [&](size_t i) { reader.load(reader.entries()[i]); });
    reader.load(corpus().request);
  };
  check_fuzz(target, kInputs);
}

TEST_CASE("a file of ciphertexts, full and seeded") {
  FuzzTarget target = corpus().target("ciphertexts", {corpus().ciphertexts, corpus().seeded});
  target.decode = [](std::string_view bytes) {
    CiphertextReader reader(ByteSource("input", bytes), corpus().party.context, 8);
    load_each(reader.heads().size(), [&](size_t i) { reader.load(i); });
  };
  check_fuzz(target, kInputs);
}

TEST_CASE("a header's parameters, and their bootstrap: no header takes more than the largest ring") {
  const std::string path = path_of("header");
  std::vector<std::string> headers = {corpus().secret.substr(0, 160), corpus().public_key.substr(0, 160)};
  for (const int log_n : {5, 6}) {
    ckks::ParameterSpec spec = ckks::insecure_version(ckks::secure_n16(), log_n);
    spec.secret_hamming_weight = 16;
    const ckks::Context context(spec);
    ContainerWriter(path, {FileKind::kPublicKey, spec, {context.fingerprint(), 0}}).commit();
    headers.push_back(read_file(path, 1 << 20));
  }
  FuzzTarget target = corpus().target("parameters", std::move(headers));
  target.decode = [](std::string_view bytes) {
    const auto kind = bytes.size() > 12 && bytes[12] == 1 ? FileKind::kSecretKey : FileKind::kPublicKey;
    const auto context = read_context(ByteSource("input", bytes), kind);
    if (context->can_bootstrap()) ckks::BootstrapPlan(*context).key_request();
  };
  // 74 primes at N = 2^17: four tables of 2^17 words each.
  target.fixed_bytes = size_t{300} << 20;
  check_fuzz(target, 200);
}

TEST_CASE("the memory of the largest specification is what SECURITY.md says, here at a 32nd of the degree") {
  // One special prime, and 15 on a band of few levels: the most of either kind.
  ckks::ParameterSpec spec = ckks::insecure_leveled(12, 1);
  spec.p_count = 1, spec.evalmod_levels = 1, spec.cts_levels = 56;
  spec.log_scale = spec.compute_bits = spec.evalmod_bits = spec.cts_bits = 45;
  const AllocationMeter meter;
  const ckks::Context context(spec);
  CHECK(context.max_level() + 1 + spec.p_count == 60);
  CHECK(context.ring().full_basis().limbs() == 74);
  CHECK(meter.peak_bytes() < (size_t{300} << 20) / 32);
  spec.compute_levels = 2;
  CHECK_THROWS_AS(ckks::Context{spec}, Error);
}

}  // namespace
}  // namespace psm::wire
