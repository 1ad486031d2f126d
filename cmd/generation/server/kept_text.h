// The server's state of a text between two tokens: the caches, packed, and the last answer. All are ciphertexts.
//
// With a folder they are also in its file text.ct, a ciphertext file of ckks/wire that is replaced as a whole
// before an answer is sent. So a killed run continues from the last computed token, bit for bit: either its
// answer is sent again, or the token comes again. The file belongs to one program and one key pair; others
// are refused. Only one server at a time may use a folder.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ckks/ring/packed_poly.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/group_files.h"
#include "cmd/protocol/locked_folder.h"

namespace psm::cmd {

// A prompt and a token answer with the same names; their levels may differ.
class KeptText {
 public:
  // If `folder` is empty, nothing is saved. Otherwise it is made unless it exists, and its state is read.
  // Throws Error if that belongs to another program or key pair. The ends must outlive the object.
  KeptText(const std::string& folder, const TextEnds& ends, ckks::Fingerprint keys);

  uint64_t text() const { return last_.request; }  // 0: none
  int window() const { return window_; }           // the first token in the caches
  int cached() const { return text() == 0 ? 0 : next() - window_; }
  int next() const { return last_.first + last_.count; }  // the token that comes next
  Ciphertexts caches() const;                             // copies; zeros, places all empty, of no text
  size_t cache_bytes() const;
  // The file of the last answer, as sent. Throws Error if there is none.
  std::string answer() const;

  // Keeps the outputs of a run on the tokens of `note`; `window` as above. If they cannot be saved, throws
  // Error and keeps the old state.
  void keep(const TextNote& note, int window, Ciphertexts outputs);

 private:
  std::string path() const { return folder_ + "/text.ct"; }

  std::string folder_;
  std::optional<LockedFolder> lock_;
  const TextEnds& ends_;
  const ckks::Fingerprint keys_;
  TextNote last_;  // of the answer
  int window_ = 0;
  // Packed to the bits of their primes: two thirds of the memory.
  using Packed = std::array<ckks::PackedPoly, 2>;
  static Packed packed(const ckks::Ciphertext& x) {
    return {ckks::PackedPoly(x.c[0]), ckks::PackedPoly(x.c[1])};
  }
  std::map<std::string, Packed> caches_;
  Ciphertexts answer_;
};

}  // namespace psm::cmd
