// A run that others can check: its inputs, and a digest of every instruction's result.
//
// A folder (//cmd:record makes it, //cmd:replay reads it):
//     record.json        this file's Recording
//     text.program       the program
//     keys/              evaluation.keys, and secret.key: a test key, made for the record and published in it
//     request-I          frame I as the client sent it (frames.h), a ciphertext file
//     answer-I           and as it was answered
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/generation/frames.h"
#include "cmd/generation/server/text_server.h"

namespace psm::cmd {

struct RecordedRun {
  FrameKind kind{};               // kPrompt or kToken
  std::string request, answer;    // SHA-256 of the files
  std::vector<uint64_t> digests;  // by instruction of the plan (run_digests.h)
};

struct Recording {
  uint64_t program = 0, parameters = 0, keys = 0;  // its id, and fingerprints
  std::string program_file, evaluation_keys;       // SHA-256 of the files
  std::string made_with;                           // kernels and threads
  std::string text;                                // that was generated
  std::vector<RecordedRun> runs;

  std::string json() const;
  // Throws Error if it is not a recording.
  static Recording parse(const std::string& json, const std::string& what);
};

// SHA-256 of a file, in hexadecimal digits.
std::string file_digest(const std::string& path);

}  // namespace psm::cmd
