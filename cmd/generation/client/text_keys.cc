#include "cmd/generation/client/text_keys.h"

#include <cstdio>
#include <filesystem>

#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/client/new_keys.h"

namespace psm::cmd {

TextKeys::TextKeys(const std::string& folder, const RingFlags& ring)
    : files(folder),
      are_new(!std::filesystem::exists(files.secret)),
      context(are_new ? std::make_shared<const ckks::Context>(ring.spec())
                      : wire::read_context(files.secret, wire::FileKind::kSecretKey)) {
  ring.require_security(*context);
}

double TextKeys::make(const ckks::KeyRequest& request) const {
  if (!are_new) return 0;
  const NewKeys made = make_key_files(files, *context, request);
  std::printf("%s", made.text(*context, request).c_str());
  return made.seconds;
}

ckks::SecretKey TextKeys::secret() const { return wire::read_secret_key(files.secret, *context); }

}  // namespace psm::cmd
