// The names of a key pair's files in its folder.
#pragma once

#include <string>

namespace psm {

struct KeyFiles {
  explicit KeyFiles(const std::string& folder)
      : secret(folder + "/secret.key"),
        public_key(folder + "/public.key"),
        evaluation(folder + "/evaluation.keys"),
        sharing(folder + "/sharing.json") {}
  std::string secret, public_key, evaluation;
  std::string sharing;  // how many answers were shared (sharing_record.h)
};

}  // namespace psm
