// What happens in a child process: for tests that forbid it something, or stop it. It has one thread, as others do not
// live on in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "ckks/base/parallel.h"
#include "doctest/doctest.h"

namespace psm {

constexpr int kThrew = 100;
// The exit code that body() returns there, or kThrew; minus the number of a signal that stopped it.
template <typename Body>
int in_child(const Body& body) {
  std::fflush(stdout);  // what doctest printed is not the child's to print
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    set_thread_count(1);
    try {
      _exit(body());
    } catch (...) {
      _exit(kThrew);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// What body() returns there, of a type that is copied byte by byte.
template <typename Value, typename Body>
Value from_child(const Body& body) {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  CHECK(in_child([&] {
          const Value value = body();
          return write(channel[1], &value, sizeof value) == sizeof value ? 0 : 1;
        }) == 0);
  close(channel[1]);  // so that reading ends
  Value value;
  REQUIRE(read(channel[0], &value, sizeof value) == sizeof value);
  close(channel[0]);
  return value;
}

// Whether it is stopped by a signal there, or by a sanitiser that sees one coming.
template <typename Body>
bool is_stopped(const Body& body) {
  const int code = in_child([&] {
    if (std::freopen("/dev/null", "w", stderr) != nullptr) body();
    return 0;
  });
  CHECK(code != kThrew);
  return code != 0;
}

}  // namespace psm
