#include <cmath>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

const RowKernels<double>& doubles = row_kernels<double>();

void check_equal(const std::vector<float>& here, const std::vector<double>& exact) {
  bool right = true;
  for (size_t i = 0; i < exact.size(); ++i)
    right = right && here[i] == doctest::Approx(exact[i]).epsilon(1e-5).scale(1);
  CHECK(right);
  CHECK(here.back() == 7);  // nothing is written behind a row
}

TEST_CASE("every instruction set's rows agree with double precision at every length and power") {
  TrainingRandom random(7);
  for (const SimdSet& each : simd_sets)
    if (const SimdKernels* const set = each.kernels())
      for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
        CAPTURE(set->name);
        CAPTURE(n);
        std::vector<float> a(n + 1, 7), b(n + 1, 7), y(n + 1, 7);
        for (size_t i = 0; i < n; ++i)
          a[i] = static_cast<float>(random.normal()), b[i] = static_cast<float>(random.normal());
        const std::vector<double> x(a.begin(), a.end() - 1), g(b.begin(), b.end() - 1);
        std::vector<double> exact(n);
        CHECK(set->rows.dot(a.data(), b.data(), n) ==
              doctest::Approx(doubles.dot(x.data(), g.data(), n)).epsilon(1e-5).scale(1));

        const double exponentials = doubles.exponentials_above(x.data(), 0.5, n, exact.data());
        CHECK(set->rows.exponentials_above(a.data(), 0.5f, n, y.data()) ==
              doctest::Approx(exponentials).epsilon(1e-5));
        check_equal(y, exact);

        doubles.softmax_vjp(x.data(), g.data(), 0.25, n, exact.data());
        set->rows.softmax_vjp(a.data(), b.data(), 0.25f, n, y.data());
        check_equal(y, exact);

        for (const int p : {2, 4, 6, 8, 10, 12, 14, 16}) {
          CAPTURE(p);
          const double sum = doubles.powers(x.data(), 0.5, p, n, exact.data());
          CHECK(set->rows.powers(a.data(), 0.5f, p, n, y.data()) == doctest::Approx(sum).epsilon(1e-5));
          CHECK(set->rows.powers(a.data(), 0.5f, p, n, nullptr) == doctest::Approx(sum).epsilon(1e-5));
          check_equal(y, exact);
          doubles.powers_vjp(x.data(), 0.5, p, g.data(), 0.25, 3, n, exact.data());
          set->rows.powers_vjp(a.data(), 0.5f, p, b.data(), 0.25f, 3, n, y.data());
          check_equal(y, exact);
        }

        set->rows.scale(a.data(), -2, n);
        for (size_t i = 0; i < n; ++i) exact[i] = -2 * x[i];
        check_equal(a, exact);
      }
}

TEST_CASE("every instruction set's norms agree with double precision at every length") {
  TrainingRandom random(8);
  const auto row = [&](size_t n) {
    std::vector<float> x(n + 1, 7);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(1 + random.normal());
    return x;
  };
  const auto exactly = [](const std::vector<float>& x) {
    return std::vector<double>(x.begin(), x.end() - 1);
  };
  for (const SimdSet& each : simd_sets)
    if (const SimdKernels* const set = each.kernels())
      for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
        CAPTURE(set->name);
        CAPTURE(n);
        const auto x = row(n), dy = row(n), gamma = row(n), beta = row(n);
        const auto xd = exactly(x), dyd = exactly(dy), gammad = exactly(gamma), betad = exactly(beta);
        float mean = 0, variance = 0;
        set->rows.moments(x.data(), n, &mean, &variance);
        double exact_mean = 0, exact_variance = 0;
        doubles.moments(xd.data(), n, &exact_mean, &exact_variance);
        CHECK(mean == doctest::Approx(exact_mean).epsilon(1e-5).scale(1));
        CHECK(variance == doctest::Approx(exact_variance).epsilon(1e-5).scale(1));

        std::vector<float> y = row(n);
        std::vector<double> exact(n);
        for (const bool shifted : {false, true}) {
          set->rows.standardise(x.data(), 0.5f, 2, gamma.data(), shifted ? beta.data() : nullptr, n,
                                y.data());
          doubles.standardise(xd.data(), 0.5, 2, gammad.data(), shifted ? betad.data() : nullptr, n,
                              exact.data());
          check_equal(y, exact);

          auto dx = row(n), dgamma = row(n), dbeta = row(n);
          auto dxd = exactly(dx), dgammad = exactly(dgamma), dbetad = exactly(dbeta);
          set->rows.standardise_vjp(x.data(), dy.data(), 0.5f, 2, gamma.data(), n, dx.data(), dgamma.data(),
                                    shifted ? dbeta.data() : nullptr);
          doubles.standardise_vjp(xd.data(), dyd.data(), 0.5, 2, gammad.data(), n, dxd.data(), dgammad.data(),
                                  shifted ? dbetad.data() : nullptr);
          check_equal(dx, dxd);
          check_equal(dgamma, dgammad);
          check_equal(dbeta, dbetad);
        }
        auto sum = row(n);
        for (size_t i = 0; i < n; ++i) exact[i] = static_cast<double>(sum[i]) + xd[i];
        set->rows.accumulate(sum.data(), x.data(), n);
        check_equal(sum, exact);
      }
}

TEST_CASE("every instruction set's step of AdamW is the formula's") {
  const AdamWConstants c = {
      .scale = 0.5f, .b1 = 0.9f, .b2 = 0.98f, .correct_m = 2, .correct_v = 3, .epsilon = 0.1f, .rate = 0.25f};
  for (const SimdSet& each : simd_sets)
    if (const SimdKernels* const set = each.kernels()) {
      CAPTURE(set->name);
      constexpr size_t n = 21;
      std::vector<float> w(n + 1, 7), m = w, v = w, decay(n), g(n);
      std::vector<double> expected[3];
      for (size_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(i);
        w[i] = 1, m[i] = 2, v[i] = 3, decay[i] = static_cast<float>(i % 2), g[i] = static_cast<float>(i);
        expected[0].push_back(0.9 * 2 + 0.1 * x / 2);
        expected[1].push_back(0.98 * 3 + 0.02 * x * x / 4);
        expected[2].push_back(1 - 0.25 * (expected[0][i] * 2 / (std::sqrt(expected[1][i] * 3) + 0.1) +
                                          static_cast<double>(i % 2)));
      }
      set->adamw(c, decay.data(), g.data(), n, w.data(), m.data(), v.data());
      check_equal(m, expected[0]);
      check_equal(v, expected[1]);
      check_equal(w, expected[2]);
    }
}

}  // namespace
}  // namespace psm::nn
