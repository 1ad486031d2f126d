#include "ckks/scheme/server/packed_ciphertext.h"

#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("a packed ciphertext is the same one in less memory") {
  TestParty party(insecure_bootstrappable(10));
  const Ciphertext x = party.encrypt(party.random_slots(1), Level::at(5));
  const PackedCiphertext packed(x);
  const Ciphertext again = packed.unpack();
  CHECK(same_bits(again, x));
  CHECK(again.fingerprint == x.fingerprint);
  CHECK(packed.bytes() == 2 * packed_bytes(party.context.ring(), x.c[0].basis()));
  CHECK(packed.bytes() < 0.8 * static_cast<double>(x.bytes()));
}

}  // namespace
}  // namespace psm::ckks
