// What every command takes: --threads and, where it has figures, --json; and the checks that all of them make.
#pragma once

#include <initializer_list>
#include <string>

#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {

struct ThreadsFlag {
  explicit ThreadsFlag(Flags& flags);
  // After parse(): sets the number of threads.
  void apply() const;

  const int64_t& threads;
};

struct CommonFlags : ThreadsFlag {
  explicit CommonFlags(Flags& flags);
  // Writes all figures if --json was given.
  void write_json(const Json& json) const;

  const std::string& json_path;
};

// Throws Error naming the first of these flags that was not given.
void require_given(const Flags& flags, std::initializer_list<const char*> names);

double seconds_now();  // a steady clock

}  // namespace psm::cmd
