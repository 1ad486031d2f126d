// SHA-256 against the standard.
#include "ckks/base/random/sha256.h"

#include "ckks/base/files/hex.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

std::string sha256_hex(const std::string& text) {
  const Sha256::Digest digest = sha256(text.data(), text.size());
  return hex(digest.data(), digest.size());
}

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the bytes arrive") {
  std::string text(1000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 37);
  Sha256 hash;
  for (size_t at = 0, step = 1; at < text.size(); at += step, ++step) {
    hash.update(text.data() + at, std::min(step, text.size() - at));
  }
  CHECK(hash.digest() == sha256(text.data(), text.size()));
}

}  // namespace
}  // namespace psm
