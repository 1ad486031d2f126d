// Notes of client and server: those of ciphertext files, and small files of their own. A note is a table
// (ckks/wire/tables.h) that begins with its kind, so that it is not taken for another. FORMATS.md has the
// kinds that both sides read; the others are one side's alone. A type of note X has
//
//     struct X {
//       static constexpr NoteKind kKind = NoteKind::kX;
//       ...
//     };
//     template <typename Tables> void describe(Tables& t, X& x);
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ckks/wire/tables.h"

namespace psm::cmd {

enum class NoteKind : uint32_t {
  kCiphertexts = 1,  // prompts and answers
  kText,             // those of a text
  kKeptText,         // what a server keeps of a text
  kWeights,          // encrypted weights
  kWeightsOwner,     // whose they are
  kGroup,            // the state of an interrupted run
  kGreeting,         // a server's
  kPrompts,          // the lengths of a request's prompts
  kTextRecord,       // what a client keeps of a text
  kCommitment,       // a server's to what it computes, and a challenge to it
  kOpening,          // the server's answer to that
};

template <typename Note>
struct KindAndNote {
  Note note;
};

template <typename Tables, typename Note>
void describe(Tables& t, KindAndNote<Note>& both) {
  auto kind = static_cast<uint32_t>(Note::kKind);
  t.number(kind);
  if (kind != static_cast<uint32_t>(Note::kKind)) t.refuse(std::string("it is no ") + Note::kWhat);
  describe(t, both.note);
}

template <typename Note>
std::string note_text(Note note) {
  return wire::to_bytes(KindAndNote<Note>{std::move(note)});
}
// Throws Error, which begins with `what`, unless the text is such a note.
template <typename Note>
Note parse_note(const std::string& text, const std::string& what) {
  return wire::from_bytes<KindAndNote<Note>>(text, what).note;
}

// A number that serves as a size or a place. A reader refuses one outside [lo, hi].
template <typename Tables>
void bounded(Tables& t, int& value, int lo, int hi, const char* what) {
  t.number(value);
  if (Tables::kReads && (value < lo || value > hi))
    t.refuse(message("its ", what, " is ", value, "; ", lo, " to ", hi, " are possible"));
}

// The note of a ciphertext file. A server reads nothing else besides the ciphertexts: the program that they
// are for, a random number of the request, and the names of the ciphertexts of one group of prompts. It says
// nothing about the prompts; their lengths stay with the client (prompt_record.h).
struct CiphertextNote {
  static constexpr NoteKind kKind = NoteKind::kCiphertexts;
  static constexpr const char* kWhat = "note of prompts or answers";

  uint64_t program_id = 0;  // the first bytes of the digest of the program that they are for
  uint64_t request = 0;
  std::vector<std::string> names;  // of a group, in order; the file holds whole groups
};

template <typename Tables>
void describe(Tables& t, CiphertextNote& note) {
  t.number(note.program_id), t.number(note.request);
  wire::names(t, note.names);
}

// Prompts in groups of at most `size`.
inline std::vector<std::vector<std::vector<int>>> groups_of(const std::vector<std::vector<int>>& prompts,
                                                            int size) {
  std::vector<std::vector<std::vector<int>>> groups;
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (i % static_cast<size_t>(size) == 0) groups.emplace_back();
    groups.back().push_back(prompts[i]);
  }
  return groups;
}

}  // namespace psm::cmd
