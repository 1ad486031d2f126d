#include "cmd/generation/server/kept_text.h"

#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/wire/ciphertext_reader.h"

namespace psm::cmd {
namespace {

struct KeptNote {
  static constexpr NoteKind kKind = NoteKind::kKeptText;
  static constexpr const char* kWhat = "text that a server keeps";

  TextNote text;
  int window = 0;
};

template <typename Tables>
void describe(Tables& t, KeptNote& note) {
  describe(t, note.text);
  bounded(t, note.window, 0, kMaxText, "window");
}

// In the order of the answer's note.
void write_all(wire::CiphertextWriter& writer, const std::vector<std::string>& names, const Ciphertexts& of) {
  for (const std::string& name : names) writer.write(of.at(name));
}

}  // namespace

KeptText::KeptText(const std::string& folder, const TextEnds& ends, ckks::Fingerprint keys)
    : folder_(folder), ends_(ends), keys_(keys) {
  if (folder_.empty()) return;
  // A server whose client is gone finishes its token first.
  lock_.emplace(folder_, "keep a text in", "server that has", "/lock");
  if (!std::filesystem::exists(path())) return;
  const ckks::Context& context = *ends_.context;
  const std::vector<std::string> names = names_of(ends_.caches);
  wire::CiphertextReader file(path(), context, kMaxCiphertexts);
  const auto [note, window] = parse_note<KeptNote>(file.note(), path());
  if (note.program_id != ends_.id)
    throw Error(message(path(), " keeps a text of another program; give another --state, or remove it"));
  if (file.fingerprint() != keys_)
    throw Error(message(path(), " keeps a text under another key pair; give another --state, or remove it"));
  const int cached = note.first + note.count - window;
  // A prompt's answer has its plan's levels, a token's has the token's.
  std::vector<PlanEnd> kept = ends_.caches;
  for (const PlanEnd& end : ends_.outputs(note.first, window)) kept.push_back(end);
  bool fits = note.request != 0 && cached >= 1 && cached <= ends_.tokens && note.first >= window &&
              file.heads().size() == kept.size() && note.names.size() + names.size() == kept.size();
  for (size_t i = 0; fits && i < kept.size(); ++i)
    fits = is_at(file.heads()[i], kept[i].level, context) &&
           (i < names.size() || note.names[i - names.size()] == kept[i].name);
  if (!fits) throw Error(message(path(), " does not hold what this program keeps of a text; remove it"));
  for (size_t i = 0; i < kept.size(); ++i) {
    ckks::Ciphertext value = file.load(i);
    if (i < names.size()) {
      caches_.emplace(kept[i].name, packed(value));
    } else {
      answer_.emplace(kept[i].name, std::move(value));
    }
  }
  last_ = note;
  window_ = window;
}

Ciphertexts KeptText::caches() const {
  const ckks::Context& context = *ends_.context;
  Ciphertexts caches;
  for (const PlanEnd& cache : ends_.caches) {
    const auto half = [&](size_t i) {
      if (text() != 0) return caches_.at(cache.name)[i].unpack();
      return ckks::RnsPoly::zero(context.ring(), {cache.level + 1, 0}, ckks::Form::kNtt);
    };
    caches.emplace(cache.name, ckks::Ciphertext({half(0), half(1)}, context.scale(cache.level), keys_));
  }
  return caches;
}

size_t KeptText::cache_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, cache] : caches_) bytes += cache[0].bytes() + cache[1].bytes();
  return bytes;
}

std::string KeptText::answer() const {
  if (text() == 0) throw Error("there is no answer yet; send a prompt first");
  std::string bytes;
  wire::CiphertextWriter writer(&bytes, *ends_.context, keys_, note_text(last_));
  write_all(writer, last_.names, answer_);
  writer.commit();
  return bytes;
}

void KeptText::keep(const TextNote& note, int window, Ciphertexts outputs) {
  Ciphertexts caches;
  for (const auto& [name, level] : ends_.caches) {
    const auto found = outputs.find(name);
    PSM_CHECK(found != outputs.end() && found->second.level() == level, name);
    caches.insert(outputs.extract(found));
  }
  if (!folder_.empty()) {
    wire::CiphertextWriter writer(path(), *ends_.context, keys_, note_text(KeptNote{note, window}));
    write_all(writer, names_of(ends_.caches), caches);
    write_all(writer, note.names, outputs);
    writer.commit();
  }
  caches_.clear();
  for (const auto& [name, cache] : caches) caches_.emplace(name, packed(cache));
  answer_ = std::move(outputs);
  last_ = note;
  window_ = window;
}

}  // namespace psm::cmd
