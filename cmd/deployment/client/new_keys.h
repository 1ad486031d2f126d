// A new key pair in the files of its folder: made one key at a time, since what is written need not stay in
// memory, and tested from the files before it is kept (key_check.h).
#pragma once

#include <cstdint>
#include <string>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "cmd/deployment/client/key_check.h"
#include "cmd/protocol/key_files.h"

namespace psm::cmd {

struct NewKeys {
  size_t count = 0;
  uint64_t file_bytes = 0;  // of the evaluation keys
  KeyCheck check;
  double seconds = 0, check_seconds = 0;

  std::string text(const ckks::Context& context, const ckks::KeyRequest& request) const;  // two lines
};

// Throws Error if one of the files is there already.
void require_no_keys(const KeyFiles& files);

// `plan`: the content of the file of that name, unless it is empty. Both bootstraps may be null;
// `server_bytes`: what a bootstrap with all keys takes. Throws Error, and leaves no file, if the keys fail
// their test.
NewKeys make_key_files(const KeyFiles& files, const ckks::Context& context, const ckks::KeyRequest& request,
                       const std::string& plan, const ckks::BootstrapPlan* bootstrap,
                       const ckks::SparseBootstrapPlan* sparse, size_t server_bytes);

}  // namespace psm::cmd
