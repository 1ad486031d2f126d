// What a decryption leaves in memory: nothing, once its caller has wiped the result.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secrecy.h"
#include "ckks/base/testing/check.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

// A word in a form in which it is not found itself; one to one.
uint64_t hidden(uint64_t word) { return (word ^ 0x5bd1e9955bd1e995) * 0x9e3779b97f4a7c15; }

// How often the words that `hidden_words` hides stand in the writable memory of this process.
size_t occurrences(const std::vector<uint64_t>& hidden_words) {
  static uint64_t page[512];
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  PSM_CHECK(memory >= 0);
  std::ifstream maps("/proc/self/maps");
  size_t found = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    char readable, writable;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &begin, &end, &readable, &writable) != 4 || writable != 'w')
      continue;
    for (unsigned long at = begin; at < end; at += sizeof page) {
      if (pread(memory, page, sizeof page, static_cast<off_t>(at)) != sizeof page) continue;
      for (const uint64_t word : page) {
        const uint64_t now = hidden(word);
        for (const uint64_t wanted : hidden_words) found += now == wanted;
      }
    }
  }
  close(memory);
  secure_zero(page, sizeof page);
  return found;
}

constexpr size_t kPlaces = 4;

// Hides some words of an array; not the last of a thread's share, which its stack may keep.
template <typename T>
void add_words(const T* data, size_t count, std::vector<uint64_t>& words) {
  static_assert(sizeof(T) == sizeof(uint64_t));
  for (const size_t i : {count / 5, count / 3, count / 2 + 1, 2 * count / 3}) {
    uint64_t word;
    std::memcpy(&word, data + i, sizeof word);
    words.push_back(hidden(word));
  }
}

TEST_CASE("once the caller has wiped the slots of a decryption, nothing of it is left in memory") {
  if (kSanitised) return say_skipped("a sanitiser's shadow memory is too large to search");
  set_thread_count(2);
  TestParty party(insecure_leveled(11, 4));
  const Ciphertext ciphertext = party.encrypt(party.random_slots(1), 0);
  const size_t n = party.context.ring().n();
  std::vector<uint64_t> wanted;
  {
    // Residues in both forms, the coefficients as numbers, and their transform.
    const RnsPoly phase = party.decryptor.phase(ciphertext).poly;
    RnsPoly poly = phase.clone();
    to_coefficients(poly);
    const int64_t q = static_cast<int64_t>(party.context.q(0));
    SecretVector<double> coefficients(n);
    for (size_t i = 0; i < n; ++i) {
      const int64_t residue = static_cast<int64_t>(poly.limb(0)[i]);
      coefficients[i] = static_cast<double>(residue > q / 2 ? residue - q : residue);
    }
    add_words(phase.limb(0), n, wanted);
    add_words(poly.limb(0), n, wanted);
    add_words(coefficients.data(), n, wanted);
    Slots unscaled(n / 2);
    Embedding(party.context.log_n() - 1).slots_of_coefficients(coefficients.data(), unscaled);
    add_words(reinterpret_cast<const double*>(unscaled.data()), 2 * unscaled.size(), wanted);
    CHECK(occurrences(wanted) >= 4 * kPlaces);  // the search finds what is there
    secure_zero(unscaled.data(), unscaled.size() * sizeof unscaled[0]);
  }
  Slots slots = party.decrypt(ciphertext);
  std::vector<uint64_t> slot_words;
  add_words(reinterpret_cast<const double*>(slots.data()), 2 * slots.size(), slot_words);
  CHECK(occurrences(slot_words) >= kPlaces);
  secure_zero(slots.data(), slots.size() * sizeof slots[0]);
  wanted.insert(wanted.end(), slot_words.begin(), slot_words.end());
  CHECK(occurrences(wanted) == 0);
}

}  // namespace
}  // namespace psm::ckks
