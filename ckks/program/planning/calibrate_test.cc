#include "ckks/program/planning/calibrate.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "ckks/base/parallel.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

TEST_CASE("every kernel is timed, and an NTT of four times the degree takes more than twice as long") {
  set_thread_count(1);  // other processes on a machine of few cores would disturb what waits for all threads
  const ckks::Context small_context(ckks::insecure_leveled(11, 4)),
      large_context(ckks::insecure_leveled(13, 4));
  const KernelSeconds small = calibrate(small_context, 0.5).kernels,
                      large = calibrate(large_context, 0.5).kernels;
  const auto of = [](const KernelSeconds& k, WorkKind kernel) {
    return k.seconds[static_cast<size_t>(kernel)];
  };
  for (const KernelSeconds* k : {&small, &large}) {
    for (WorkKind kernel : {WorkKind::kNtt, WorkKind::kMultiply, WorkKind::kAdd, WorkKind::kConvert,
                            WorkKind::kPermute, WorkKind::kRunProduct, WorkKind::kTensor}) {
      CAPTURE(name(kernel));
      CHECK(of(*k, kernel) > 0);
    }
  }
  CHECK(of(large, WorkKind::kNtt) > 2 * of(small, WorkKind::kNtt));
}

TEST_CASE("what two threads do not halve, more do not shorten") {
  KernelSeconds one, two;
  one.seconds = {1, 1, 1, 1, 1, 1, 1, 0};
  two.seconds = {0.5, 0.75, 1, 0.4, 2, 0.5, 1, 0};
  CHECK(at_threads(one, two, 1).seconds == one.seconds);
  CHECK(at_threads(one, two, 4).seconds ==
        std::array<double, kWorkKindCount>{0.25, 0.625, 1, 0.25, 1, 0.25, 1, 0});
}

TEST_CASE("a machine that other programs keep busy is noticed, and changes the figures little") {
  set_thread_count(1);
  const ckks::Context context(ckks::insecure_leveled(13, 4));
  const auto ntt = static_cast<size_t>(WorkKind::kNtt);
  const double before = calibrate(context, 0.5).kernels.seconds[ntt];
  std::vector<pid_t> others;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
    const pid_t other = fork();
    REQUIRE(other >= 0);
    if (other == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      volatile bool forever = true;
      while (forever) {
      }
    }
    others.push_back(other);
  }
  const Calibration busy = calibrate(context, 0.5);
  for (const pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  CHECK(busy.busy);
  CHECK(busy.caveat().find("busy") != std::string::npos);
  CHECK(busy.caveat().find("spread ") != std::string::npos);
  CHECK(busy.kernels.seconds[ntt] < 3 * before);
  CHECK(before < 3 * busy.kernels.seconds[ntt]);
}

TEST_CASE("the mean of two calibrations has their difference as spread") {
  Calibration a, b;
  a.kernels.seconds.fill(1);
  b.kernels.seconds.fill(1.5);
  b.busy = true;
  a.spread = 0.1;
  const Calibration both = mean(a, b);
  CHECK(both.kernels.seconds.front() == 1.25);
  CHECK(both.kernels.seconds.back() == 1.25);
  CHECK(both.busy);
  CHECK(both.spread == 0.5);
  b.kernels = a.kernels;
  CHECK(mean(b, a).spread == 0.1);
}

TEST_CASE("encoding takes a time for each byte that hardly depends on the ring") {
  set_thread_count(1);
  const ckks::Context small_context(ckks::insecure_leveled(11, 4)),
      large_context(ckks::insecure_leveled(13, 4));
  const double small = encode_seconds_per_byte(small_context), large = encode_seconds_per_byte(large_context);
  CHECK(small > 1e-10);
  CHECK(large < 4 * small);
  CHECK(small < 4 * large);
}

}  // namespace
}  // namespace psm::program
