// Times the operations of the scheme at the default parameters: medians, in milliseconds.
//
//   bazel run //ckks/scheme/testing:scheme_bench -- --threads 2
//
// Prints parameters, processor, backend and threads; one column for each number of limbs (level + 1).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "ckks/base/files/flags.h"
#include "ckks/base/parallel.h"
#include "ckks/base/processor.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm {
namespace {

double median_milliseconds(int repetitions, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  body();
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const Clock::time_point start = Clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<size_t>(repetitions / 2)];
}

struct Row {
  std::string name;
  std::vector<double> milliseconds;
};

// Every operation once at one level; rows are made on the first call and extended on the others.
void measure(TestParty& t, int level, int repetitions, std::vector<Row>& rows) {
  size_t at = 0;
  const auto time = [&](const char* name, const std::function<void()>& body) {
    if (at == rows.size()) rows.push_back({name, {}});
    rows[at++].milliseconds.push_back(median_milliseconds(repetitions, body));
  };
  const Evaluator& e = *t.evaluator;
  const Slots x = t.random_slots(1), period(x.begin(), x.begin() + 256);
  const Ciphertext a = t.encrypt(x, level);
  const Plaintext full = t.encoder.encode(x, level), periodic = t.encoder.encode(period, level);
  const Hoisted hoisted = e.hoist(a);
  const GaloisElement g = galois_element(t.context, 1);
  const ExtendedCiphertext extended = e.apply_galois_extended(hoisted, g);

  time("add", [&] { e.add(a, a); });
  time("multiply_plain", [&] { e.multiply_plain(a, full); });
  time("multiply_plain, period 256", [&] { e.multiply_plain(a, periodic); });
  time("rescale", [&] { e.rescale(a); });
  time("multiply_no_relin", [&] { e.multiply_no_relin(a, a); });
  time("multiply (relinearised)", [&] { e.multiply(a, a); });
  time("multiply_rescale", [&] { e.multiply_rescale(a, a); });
  time("rotate", [&] { e.rotate(a, 1); });
  time("hoist", [&] { e.hoist(a); });
  time("rotate, hoisted", [&] { e.apply_galois(hoisted, g); });
  time("rotate, hoisted, extended", [&] { e.apply_galois_extended(hoisted, g); });
  time("giant step", [&] { e.apply_galois_extended(extended, g); });
  time("mod_down", [&] { e.mod_down(extended); });
  time("mod_down_rescale", [&] { e.mod_down_rescale(extended); });
  time("encode", [&] { t.encoder.encode(x, level); });
  time("encode, period 256", [&] { t.encoder.encode(period, level); });
  time("encrypt", [&] { t.encryptor.encrypt(full); });
  time("decrypt", [&] { t.decrypt(a); });
  time("key of a rotation", [&] { t.generator.galois(g, level); });
}

int bench(int argc, char** argv) {
  Flags flags("bazel run //ckks/scheme/testing:scheme_bench -- [flags]", "Times the operations of the scheme.");
  const int64_t& threads = flags.integer("threads", thread_count(), 1, 256, "threads to compute with");
  const int64_t& repetitions = flags.integer("repetitions", 9, 1, 1000, "runs of each operation");
  const int64_t& log_n = flags.integer("log_n", 16, 10, 16, "ring degree 2^log_n (below 16: insecure)");
  const int64_t& limbs = flags.integer("limbs", 0, 2, 28, "measure at this number of limbs only");
  flags.parse(argc, argv);
  set_thread_count(static_cast<int>(threads));

  std::vector<int> counts = {10, 16, 20, 28};
  if (flags.given("limbs")) counts = {static_cast<int>(limbs)};
  TestParty t(log_n == 16 ? secure_n16() : insecure_bootstrappable(static_cast<int>(log_n)));
  KeyRequest request;
  for (int count : counts) {
    request.need_relinearisation(count - 1);
    request.need_galois(galois_element(t.context, 1), count - 1);
  }
  t.add_keys(request);
  std::printf(
      "%s\n%s, backend %s, %d threads\nmilliseconds, median of %d; at limbs:", t.context.describe().c_str(),
      processor_name().c_str(), kernels().name, thread_count(), static_cast<int>(repetitions));
  for (int count : counts) std::printf(" %d", count);
  std::printf("\n");
  std::vector<Row> rows;
  for (int count : counts) measure(t, count - 1, static_cast<int>(repetitions), rows);
  for (const Row& row : rows) {
    std::printf("  %-28s", row.name.c_str());
    for (double ms : row.milliseconds) std::printf(" %9.3f", ms);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::bench(argc, argv); });
}
